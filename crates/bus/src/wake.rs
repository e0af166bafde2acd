//! Wake-ups: bounded, and may be lost, because the work itself is in the log. A look at the whole
//! log replaces lost ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::ignore_result;

/// Capacity of the queue; if it is full, the whole log is searched instead.
const QUEUE: usize = 1024;

/// The part that has work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeUp {
    /// This session has a new message, answer or result in the log.
    Lane(SessionId),
    /// The command worker.
    Commands,
    /// The workers of these turns, which were ended.
    Ended(Vec<TurnId>),
    /// The worker of this turn, which has another message to answer.
    Restarted(TurnId),
    /// All parts, because wake-ups were lost.
    Everybody,
}

pub(crate) fn wake_queue() -> (WakeSender, WakeReceiver) {
    let (queue, wakes) = flume::bounded(QUEUE);
    let lost = Arc::new(AtomicBool::new(false));
    (WakeSender { queue, lost: lost.clone() }, WakeReceiver { wakes, lost })
}

#[derive(Debug)]
pub(crate) struct WakeSender {
    queue: flume::Sender<WakeUp>,
    lost: Arc<AtomicBool>,
}

impl WakeSender {
    /// Queues a wake-up without waiting.
    pub(crate) fn send_wake(&self, wake: WakeUp) {
        if let Err(flume::TrySendError::Full(_)) = self.queue.try_send(wake) {
            self.lost.store(true, Ordering::SeqCst);
            // The receiver may have emptied the queue meanwhile, and then waits without checking
            // `lost`.
            ignore_result(
                self.queue.try_send(WakeUp::Everybody),
                "a full queue wakes the receiver, which then checks `lost`",
            );
        }
    }
}

/// The receiving end, for the listener that wakes lanes and commands.
#[derive(Debug)]
pub struct WakeReceiver {
    wakes: flume::Receiver<WakeUp>,
    lost: Arc<AtomicBool>,
}

impl WakeReceiver {
    /// Waits for the next wake-up; `None` when the bus is gone.
    pub async fn next(&self) -> Option<WakeUp> {
        if self.lost.load(Ordering::SeqCst) && self.wakes.is_empty() {
            self.lost.store(false, Ordering::SeqCst);
            return Some(WakeUp::Everybody);
        }
        self.wakes.recv_async().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wakes_next_returns_everybody_once_after_lost_wake_ups() {
        let (waker, wakes) = wake_queue();
        for _ in 0..=QUEUE {
            waker.send_wake(WakeUp::Commands);
        }
        for _ in 0..QUEUE {
            assert_eq!(wakes.next().await, Some(WakeUp::Commands));
        }
        assert_eq!(wakes.next().await, Some(WakeUp::Everybody));
        waker.send_wake(WakeUp::Ended(vec![TurnId(1)]));
        assert_eq!(wakes.next().await, Some(WakeUp::Ended(vec![TurnId(1)])));
        drop(waker);
        assert_eq!(wakes.next().await, None);
    }
}
