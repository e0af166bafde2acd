//! Deliveries to chats whose clients read the answers in responses.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{ForClient, Receipt, SessionId};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::state::HttpState;

/// The time for the deliveries of an answer after its request has ended.
const AFTER_THE_ANSWER: Duration = Duration::from_secs(30);

/// Confirms the deliveries to a chat whose client reads the texts in responses. Ends some
/// time after the guard is dropped.
pub(crate) fn confirm_deliveries(state: &Arc<HttpState>, session: &SessionId) -> DropGuard {
    let (done, chat) = (CancellationToken::new(), session.address());
    if let Some(channel) = state.parts.attach.get(&(chat.channel.clone(), chat.account.clone())) {
        let (handovers, done) = (channel.attach(&chat), done.clone());
        state.parts.deliveries.wake(&chat);
        let (clock, stopped) = (state.parts.clock.clone(), state.group.token());
        state.group.spawn("deliveries", async move {
            let left = async {
                done.cancelled().await;
                clock.sleep(AFTER_THE_ANSWER).await;
            };
            tokio::pin!(left);
            loop {
                tokio::select! {
                    biased;
                    item = handovers.recv_async() => match item {
                        Ok(ForClient::Chunk(handover)) => {
                            // The delivery may have been abandoned.
                            drop(handover.receipt.send(Ok(Receipt { platform_id: None })));
                        }
                        Ok(ForClient::Typing(_) | ForClient::Piece(_)) => {}
                        Err(_) => return,
                    },
                    () = stopped.cancelled() => return,
                    () = &mut left => return,
                }
            }
        });
    }
    done.drop_guard()
}
