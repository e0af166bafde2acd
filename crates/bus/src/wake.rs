//! Wake-ups: bounded, and may be lost, because the work itself is in the log. A look at the whole
//! log replaces lost ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::{SessionId, TurnId};

/// Capacity of the queue; if it is full, the whole log is searched instead.
const QUEUE: usize = 1024;

/// The part that has work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// The lane of this session.
    Lane(SessionId),
    /// The command worker.
    Commands,
    /// The workers of these turns, which were ended.
    Ended(Vec<TurnId>),
    /// All parts, because wake-ups were lost.
    Everybody,
}

pub(crate) fn wakes() -> (Waker, Wakes) {
    let (queue, wakes) = flume::bounded(QUEUE);
    let lost = Arc::new(AtomicBool::new(false));
    (Waker { queue, lost: lost.clone() }, Wakes { wakes, lost })
}

#[derive(Debug)]
pub(crate) struct Waker {
    queue: flume::Sender<Wake>,
    lost: Arc<AtomicBool>,
}

impl Waker {
    /// Queues a wake-up without waiting.
    pub(crate) fn wake(&self, wake: Wake) {
        if let Err(flume::TrySendError::Full(_)) = self.queue.try_send(wake) {
            self.lost.store(true, Ordering::SeqCst);
            // The receiver may have emptied the queue meanwhile, and then waits without checking
            // `lost`.
            drop(self.queue.try_send(Wake::Everybody));
        }
    }
}

/// The receiving end, for the listener that wakes lanes and commands.
#[derive(Debug)]
pub struct Wakes {
    wakes: flume::Receiver<Wake>,
    lost: Arc<AtomicBool>,
}

impl Wakes {
    /// Waits for the next wake-up; `None` when the bus is gone.
    pub async fn next(&self) -> Option<Wake> {
        if self.lost.load(Ordering::SeqCst) && self.wakes.is_empty() {
            self.lost.store(false, Ordering::SeqCst);
            return Some(Wake::Everybody);
        }
        self.wakes.recv_async().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wakes_next_returns_everybody_once_after_lost_wake_ups() {
        let (waker, wakes) = wakes();
        for _ in 0..=QUEUE {
            waker.wake(Wake::Commands);
        }
        for _ in 0..QUEUE {
            assert_eq!(wakes.next().await, Some(Wake::Commands));
        }
        assert_eq!(wakes.next().await, Some(Wake::Everybody));
        waker.wake(Wake::Ended(vec![TurnId(1)]));
        assert_eq!(wakes.next().await, Some(Wake::Ended(vec![TurnId(1)])));
        drop(waker);
        assert_eq!(wakes.next().await, None);
    }
}
