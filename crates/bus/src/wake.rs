//! Wake-ups: bounded, and may be lost, because what they speak of is in the log. What is lost is
//! made up for by a look at the whole log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::{SessionId, TurnId};

/// Wake-ups that wait; one more, and the log is looked through instead.
const QUEUE: usize = 1024;

/// Who has something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// The lane of this session.
    Lane(SessionId),
    /// Whoever lets commands act.
    Commands,
    /// Whoever works on these turns: they have been ended.
    Ended(Vec<TurnId>),
    /// Everybody: wake-ups were lost.
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
    /// Never waits.
    pub(crate) fn wake(&self, wake: Wake) {
        if let Err(flume::TrySendError::Full(_)) = self.queue.try_send(wake) {
            self.lost.store(true, Ordering::SeqCst);
            // If the queue was emptied meanwhile, its end waits and does not look at that.
            drop(self.queue.try_send(Wake::Everybody));
        }
    }
}

/// The receiving end, for the one who wakes lanes and commands.
#[derive(Debug)]
pub struct Wakes {
    wakes: flume::Receiver<Wake>,
    lost: Arc<AtomicBool>,
}

impl Wakes {
    /// The next wake-up; none when the bus is gone.
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
    async fn lost_wake_ups_wake_everybody_once() {
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
