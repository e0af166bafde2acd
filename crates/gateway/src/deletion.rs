//! The method that deletes a conversation. If no daemon runs, the program's own command calls it
//! directly.

use avocet_methods::DeleteSession;
use avocet_protocol::store::{DeletedSession, SessionDeletion};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl<'a> From<MethodCall<'a>> for &'a dyn SessionDeletion {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.deletion.as_ref()
    }
}

impl RunMethod for DeleteSession {
    type Ports<'a> = &'a dyn SessionDeletion;

    async fn run(sessions: Self::Ports<'_>, Self { session }: Self) -> Answered<Self> {
        match sessions.delete_session(&session).await.map_err(unavailable)? {
            DeletedSession::Deleted { turns } => Reply::with_whole(&turns),
            DeletedSession::Busy => {
                let message = format!(
                    "{session} has an open turn, a message that waits for its answer, or a \
                     delivery under way; try again later, or stop the turn with /stop in its chat"
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
}
