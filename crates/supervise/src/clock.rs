//! The clock of the running system: the adapter behind the `Clock` port.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use avocet_protocol::clock::{Clock, Timestamp};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::net::unix::pipe::Receiver;

/// The longest sleep if the system has no such timer (timerfd_create(2)). The caller then reads the
/// clock again.
const WITHOUT_TIMER: Duration = Duration::from_mins(1);

/// Starts a timer that ends at a time of day, or when the clock is set (timerfd_settime(2)).
fn start_timer(at: Timestamp) -> std::io::Result<Receiver> {
    let timer =
        timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    // A timer at 0 would never end.
    let millis = at.0.max(1);
    let it_value = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
    let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    timerfd_settime(&timer, flags, &Itimerspec { it_interval, it_value })?;
    // Any descriptor that poll(2) reports as readable will do.
    Receiver::from_owned_fd_unchecked(timer)
}

/// The machine's own time, and tokio's timer.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Makes a clock whose elapsed time starts now.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a default that reads the clock would hide it")]
    #[expect(clippy::disallowed_methods, reason = "this is the adapter that the Clock port is for")]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the adapter that the Clock port is for")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(0).after(since)
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the adapter that the Clock port is for")]
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// Uses a timer of the system that follows the time of day, also while the machine sleeps.
    async fn sleep_until(&self, at: Timestamp) {
        match start_timer(at) {
            // The error is that the reactor stops, together with the program.
            Ok(timer) => drop(timer.readable().await),
            Err(_) => self.sleep(self.now().until(at).min(WITHOUT_TIMER)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleep_until_returns_at_the_time_of_day() {
        let clock = SystemClock::new();
        for at in [Timestamp(0), clock.now(), clock.now().after(Duration::from_millis(30))] {
            clock.sleep_until(at).await;
            assert!(clock.now() >= at, "{at:?}");
        }
    }
}
