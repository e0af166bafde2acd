//! The bits that the choices of a turn have told, and the part of the budget that a sub-agent gets.
//! Both follow from the log, and neither is stored.

use std::sync::Arc;

use avocet_agent::TurnContext;
use avocet_protocol::access::{Grant, Trust};
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::store::{LineageTurn, SessionStatus, StoreError, TranscriptPage};
use avocet_protocol::tool::{ChoiceBits, UsedBits};
use avocet_protocol::turn::TurnRecord;
use tokio_util::sync::CancellationToken;

use crate::SessionParts;
use crate::agents::{SessionChoice, TurnAgent, permission_mode};
use crate::turn_facts::asked_by;

/// Returns the bits that the choices of a sub-agent may tell; `None` for a root turn, whose budget is
/// that of the configuration. `lineage` begins with the turn itself.
pub(crate) async fn bits_of_child(
    parts: &SessionParts,
    lineage: &[LineageTurn],
    grants: &[Grant],
) -> Result<Option<ChoiceBits>, StoreError> {
    let mut bits = None;
    for place in (1..lineage.len()).rev() {
        let above = &lineage[place..];
        let Some(spawned_by) = lineage[place - 1].session.spawned_by() else { continue };
        let Some(turn) = read_turn(parts, &above[0]).await? else {
            return Ok(Some(ChoiceBits::ZERO));
        };
        let used = used_bits(parts, above, &turn, grants, bits, spawned_by).await?;
        bits = used.map(UsedBits::share_of_child);
    }
    Ok(bits)
}

/// Returns the sentence of `/status` about the running or last turn of a session; `None` if its choices
/// have told nothing.
pub(crate) async fn describe_used_bits(
    parts: &SessionParts,
    session: &SessionId,
    status: &SessionStatus,
) -> Result<Option<String>, StoreError> {
    if status.trust == Trust::Full && status.open.is_none() {
        return Ok(None);
    }
    let Some(turn) = parts.query.transcript(session, 1).await?.pop() else { return Ok(None) };
    let lineage = parts.turns.lineage(turn.id).await?;
    let grants = parts.turns.grants_of(turn.id).await?;
    let bits = bits_of_child(parts, &lineage, &grants).await?;
    let end = CallId { turn: turn.id, step: u32::MAX, ordinal: 0 };
    let used = used_bits(parts, &lineage, &turn, &grants, bits, end).await?;
    let used = used.filter(|used| used.told > ChoiceBits::ZERO);
    let is_open = status.open.as_ref().is_some_and(|open| open.turn == turn.id);
    Ok(used.map(|UsedBits { told, budget }| {
        if is_open {
            format!("Choices among links tell {told} of {budget} bits in this turn.")
        } else {
            format!("Choices among links told {told} of {budget} bits in the last turn.")
        }
    }))
}

/// Returns the record of a turn that may be open.
async fn read_turn(
    parts: &SessionParts,
    turn: &LineageTurn,
) -> Result<Option<TurnRecord>, StoreError> {
    let before = Some(TurnId(turn.turn.0 + 1));
    let page = TranscriptPage { turns: 1, before, bytes: usize::MAX };
    let read = || parts.query.transcript_page(&turn.session, page);
    let found = parts.with_retry(read).await?.pop();
    Ok(found.filter(|found| found.id == turn.turn))
}

/// Returns the bits that the calls of a turn before `before` have told. `None` if its agent is gone.
async fn used_bits(
    parts: &SessionParts,
    lineage: &[LineageTurn],
    turn: &TurnRecord,
    grants: &[Grant],
    bits: Option<ChoiceBits>,
    before: CallId,
) -> Result<Option<UsedBits>, StoreError> {
    let agents = parts.agents.now();
    let Ok(TurnAgent { run, name, within, skills_above }) =
        agents.for_turn(lineage, SessionChoice::default())
    else {
        return Ok(None);
    };
    let context = TurnContext {
        chat: None,
        cancel: CancellationToken::new(),
        asked_by: asked_by(parts, turn).await?,
        agent: name,
        within,
        skills_above,
        roles: parts.bus.clone(),
        grants: Arc::from(grants),
        bits,
        mode: permission_mode(lineage),
        job: avocet_agent::JobPlan::default(),
    };
    run.used_bits(turn, &context, before).await
}
