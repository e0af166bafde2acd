//! The wait for the answer to a call.

use std::pin::pin;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::tool::SignsOfLife;
use tokio::sync::Notify;

use crate::calls::RunningCall;

/// The longest time between two signs of life of a call.
const SIGN_PAUSE: Duration = Duration::from_mins(1);

/// The parts of a wait.
pub(crate) struct CallWait<'c> {
    pub(crate) clock: &'c dyn Clock,
    /// The timeout. It begins again with each progress report.
    pub(crate) limit: Duration,
    pub(crate) progress: &'c Notify,
    pub(crate) call: &'c RunningCall,
    /// Takes the signs of life; `None` outside of a daemon.
    pub(crate) turns: Option<&'c dyn SignsOfLife>,
}

impl CallWait<'_> {
    /// Waits for the answer; `None` after the timeout. The turn shows signs of life meanwhile: the
    /// call may take longer than the watchdog allows.
    pub(crate) async fn wait_for_answer<T>(&self, asked: impl Future<Output = T>) -> Option<T> {
        let (clock, mut asked) = (self.clock, pin!(asked));
        let mut end = clock.elapsed() + self.limit;
        loop {
            if let Some(turns) = self.turns {
                turns.sign(self.call.turn);
            }
            let pause = end.saturating_sub(clock.elapsed()).min(SIGN_PAUSE);
            tokio::select! {
                biased;
                answer = &mut asked => return Some(answer),
                () = self.progress.notified() => end = clock.elapsed() + self.limit,
                () = clock.sleep(pause) => {
                    let now = clock.elapsed();
                    // A server that asks a person or a model has more time.
                    if now >= end {
                        if !self.call.is_asking() {
                            return None;
                        }
                        end = now + self.limit;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use avocet_protocol::ids::TurnId;
    use avocet_testkit::{ManualClock, tool_context};
    use parking_lot::Mutex;

    use super::*;
    use crate::calls::RunningCalls;

    /// The times of all signs of life.
    #[derive(Debug)]
    struct Signs<'c>(&'c ManualClock, Mutex<Vec<Duration>>);

    impl SignsOfLife for Signs<'_> {
        fn sign(&self, turn: TurnId) {
            assert_eq!(turn, tool_context().call.turn);
            self.1.lock().push(self.0.elapsed());
        }
    }

    #[tokio::test]
    async fn answer_signs_at_the_start_each_minute_and_with_each_report() {
        let (clock, calls, progress) =
            (ManualClock::default(), RunningCalls::default(), Notify::new());
        let entered = calls.enter_call(&tool_context(), String::new());
        let signs = Signs(&clock, Mutex::default());
        let wait = CallWait {
            clock: &clock,
            limit: Duration::from_secs(150),
            progress: &progress,
            call: &entered.call,
            turns: Some(&signs),
        };
        let time = async {
            clock.sleeper(SIGN_PAUSE).await;
            clock.advance(Duration::from_secs(30));
            progress.notify_waiters();
            // The timeout has begun again: 60 s, 60 s and 30 s.
            for pause in [60, 60, 30] {
                let pause = Duration::from_secs(pause);
                clock.sleeper_within(pause..=pause).await;
                clock.advance(pause);
            }
        };
        let (answer, ()) = tokio::join!(wait.wait_for_answer(std::future::pending::<()>()), time);
        assert_eq!(answer, None);
        let seconds: Vec<u64> = signs.1.into_inner().iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [0, 30, 90, 150]);
    }
}
