//! `session/delete`: deletes the conversation of a session, which is closed already.

use std::time::Duration;

use agent_client_protocol::Error;
use avocet_gateway::{Client, ClientError, DeleteSession, RpcError};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Clock;

use crate::editor::failed;

/// Requests to the daemon for a session that was open here: the last text to its chat may still be
/// on its way.
const ATTEMPTS: u32 = 20;
/// The time between two of them.
const PAUSE: Duration = Duration::from_millis(100);

/// Deletes a conversation. One that does not exist counts as deleted, as the protocol asks. `was_open`
/// says that the editor had the session open.
///
/// # Errors
/// A text for the person, if the daemon does not delete the conversation.
pub(crate) async fn delete_conversation(
    client: &Client,
    clock: &dyn Clock,
    session: SessionId,
    was_open: bool,
) -> Result<(), Error> {
    let mut attempts = if was_open { ATTEMPTS } else { 1 };
    let delete = DeleteSession { session };
    loop {
        attempts -= 1;
        match client.call::<DeleteSession>(&delete).await {
            Ok(_) | Err(ClientError::Refused(RpcError { code: RpcError::NOT_FOUND, .. })) => {
                return Ok(());
            }
            Err(ClientError::Refused(RpcError { code: RpcError::CONFLICT, .. }))
                if attempts > 0 =>
            {
                clock.sleep(PAUSE).await;
            }
            Err(error) => return Err(failed(format!("cannot delete the session: {error}"))),
        }
    }
}
