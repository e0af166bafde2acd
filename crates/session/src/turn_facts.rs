//! The people, the chat and the workspace of a turn.

use std::sync::Arc;

use avocet_protocol::chat::{ChatAddress, LoggedInbound};
use avocet_protocol::store::StoreError;
use avocet_protocol::tool::Files;
use avocet_protocol::turn::{Origin, TurnRecord};

use crate::SessionParts;

/// Returns the turn's last message, to which it replies. `None` for a child.
pub(crate) fn asker(turn: &TurnRecord) -> Option<&LoggedInbound> {
    turn.origin.messages().last()
}

/// Returns the chat for the reply.
pub(crate) fn chat_of(turn: &TurnRecord) -> Option<&ChatAddress> {
    asker(turn).map(|message| &message.message.inbound.address)
}

/// Returns the root turn's messages for a child, else an empty list. The list is constant while
/// the root waits; the roles of the senders are looked up at each step.
pub(crate) async fn asked_by(
    parts: &SessionParts,
    turn: &TurnRecord,
) -> Result<Vec<LoggedInbound>, StoreError> {
    match turn.origin {
        Origin::Messages(_) => Ok(Vec::new()),
        Origin::Child { .. } => parts.with_retry(|| parts.turns.asked_by(turn.id)).await,
    }
}

/// Returns the workspace of a turn.
pub(crate) async fn workspace_of(
    parts: &SessionParts,
    turn: &TurnRecord,
) -> Result<Arc<dyn Files>, String> {
    let lineage = parts.with_retry(|| parts.turns.lineage(turn.id)).await;
    let lineage = lineage.map_err(|error| error.to_string())?;
    let agents = parts.agents.now();
    let agent = agents.of_turn(&lineage).map_err(|error| error.to_string())?;
    Ok(agent.run.files.clone())
}
