//! The method that deletes a conversation. If no daemon runs, the program's own command calls it
//! directly.

use avocet_protocol::{DeletedSession, SessionDeletion, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{read, unavailable};
use crate::wire::RpcError;

/// `sessions.delete`: deletes a conversation. The result is the number of its turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteSession {
    /// The session.
    pub session: SessionId,
}

/// The name of this method.
pub(crate) const METHODS: [&str; 1] = ["sessions.delete"];

/// Answers this method; `None` if it is another one.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_deletion(
    sessions: &dyn SessionDeletion,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(sessions, method, params).await)
}

async fn answer(
    sessions: &dyn SessionDeletion,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let DeleteSession { session } = read(method, params)?;
    match sessions.delete_session(&session).await.map_err(unavailable)? {
        DeletedSession::Deleted { turns } => Ok(json!(turns)),
        DeletedSession::Busy => {
            let message = format!(
                "{session} has an open turn, a message that waits for its answer, or a delivery \
                 under way; try again later, or stop the turn with /stop in its chat"
            );
            Err(RpcError::new(RpcError::CONFLICT, message))
        }
        DeletedSession::OfTask => {
            let message = format!(
                "{session} belongs to a sub-agent; delete the conversation that started it"
            );
            Err(RpcError::new(RpcError::CONFLICT, message))
        }
        DeletedSession::Unknown => {
            Err(RpcError::new(RpcError::NOT_FOUND, format!("there is no session {session}")))
        }
    }
}
