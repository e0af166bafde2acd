//! A reservation of a chat's next send, so that the transaction that writes a message also starts
//! its send.

use std::task::{Context, Poll, Waker};

use avocet_protocol::chat::{Delivery, Planned};
use avocet_protocol::ids::DeliveryId;
use avocet_protocol::ignore_result;
use avocet_protocol::store::Head;
use tokio::sync::oneshot;

use crate::Deliverer;
use crate::worker::StartedSend;

/// The next send of a chat. Nothing else is sent to the chat until [`Self::send`], or the drop,
/// after which the chat's worker looks into the log as after a wake-up.
#[derive(Debug)]
pub struct ReservedSend {
    send: oneshot::Sender<Head>,
}

impl ReservedSend {
    /// Sends a chunk that the log shows as `sending`. `head` is the chunk before that.
    pub fn send(self, head: Head) {
        ignore_result(
            self.send.send(head),
            "the worker was aborted, so the next start sends the chunk",
        );
    }
}

impl Deliverer {
    /// Reserves the send of the first chunk of a message, which also takes its turn in the
    /// channel's rate limit. `None` if the chat has a delivery under way, or its channel cannot
    /// send at once.
    #[must_use]
    pub fn reserve_send(&self, message: &Planned) -> Option<ReservedSend> {
        let Planned { address, chunks } = message;
        let chat = address.whole_chat();
        let channel = self.worker.channels.channel_of(address)?;
        let is_free = !self.worker.stopping.is_cancelled()
            && channel.reachable(address)
            && !self.chats.is_running(&chat);
        if !is_free {
            return None;
        }
        let slot = self.worker.at_once.clone().try_acquire_owned().ok()?;
        let first = Delivery::new(DeliveryId(0), address.clone(), chunks.first()?.clone());
        let mut turn = channel.turn(&first);
        let Poll::Ready(Ok(())) = turn.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            return None;
        };
        let (send, head) = oneshot::channel();
        let (worker, channel) = (self.worker.clone(), channel.clone());
        let serve = {
            let chat = chat.clone();
            async move {
                let head = head.await.ok();
                let started = head.map(|head| StartedSend { head, channel, slot });
                worker.serve_chat(&chat, started).await;
            }
        };
        self.chats.wake_if_idle(chat, serve, self.chat_work()).then_some(ReservedSend { send })
    }
}
