//! Deliveries to chats whose clients read the answers in responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{FetchError, ForClient, PieceRequest};
use avocet_protocol::chat::{Receipt, SessionId};
use avocet_protocol::ignore_result;
use bytes::Bytes;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::state::HttpState;

/// The time for the deliveries of an answer after its request has ended.
const AFTER_THE_ANSWER: Duration = Duration::from_secs(30);

/// The files of a message, by their references.
pub(crate) type ChatFiles = HashMap<String, Bytes>;

/// The most bytes of a piece of a file.
const PIECE: usize = 512 * 1024;

/// Confirms the deliveries to a chat whose client reads the texts in responses, and hands out the
/// files of its message. Ends some time after the guard is dropped.
pub(crate) fn confirm_deliveries(
    state: &Arc<HttpState>,
    session: &SessionId,
    files: ChatFiles,
) -> DropGuard {
    let (done, chat) = (CancellationToken::new(), session.address());
    if let Some(channel) = state.parts.attach.get(&(chat.channel.clone(), chat.account.clone())) {
        let (handovers, done) = (channel.attach(&chat), done.clone());
        state.parts.deliveries.wake(&chat);
        let (clock, stopped) = (state.parts.clock.clone(), state.group.cancel_token());
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
                            ignore_result(
                                handover.receipt.send(Ok(Receipt { platform_id: None })),
                                "the delivery may have been abandoned",
                            );
                        }
                        Ok(ForClient::Piece(request)) => answer_piece(&files, request),
                        Ok(ForClient::Typing(_)) => {}
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

fn answer_piece(files: &ChatFiles, PieceRequest { reference, offset, piece }: PieceRequest) {
    let found = files.get(&reference).map(|bytes| {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        bytes[start..bytes.len().min(start.saturating_add(PIECE))].to_vec()
    });
    let gone = || FetchError::Gone("the request that brought the file has ended".to_owned());
    ignore_result(piece.send(found.ok_or_else(gone)), "the fetch may have been abandoned");
}
