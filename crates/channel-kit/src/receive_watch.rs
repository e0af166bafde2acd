//! Notices a receive loop that hangs. A platform that is down does not count: its requests and the
//! pauses after them end in time.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use parking_lot::Mutex;

/// The time beyond the expected one after which a loop counts as hung: enough for a slow machine.
const GRACE: Duration = Duration::from_mins(2);

/// The next time at which a receive loop has to report.
#[derive(Debug)]
pub struct ReceiveWatch {
    clock: Arc<dyn Clock>,
    /// By the clock's `elapsed`; `None` while no report is due.
    due: Mutex<Option<Duration>>,
}

/// Ends the watch of a loop that returns, fails or is dropped.
#[derive(Debug)]
pub struct WatchedRun<'a>(&'a ReceiveWatch);

impl ReceiveWatch {
    /// Starts without an expected report.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, due: Mutex::default() }
    }

    /// Reports that the loop works, and that its next step ends within this time.
    pub fn expect_within(&self, within: Duration) {
        self.set(Some(self.clock.elapsed().saturating_add(within)));
    }

    /// Reports that the loop waits for something without a limit. The log is an example: it has a
    /// watch of its own.
    pub fn suspend(&self) {
        self.set(None);
    }

    /// Returns a guard that suspends the watch at the end of the loop.
    #[must_use]
    pub fn run(&self) -> WatchedRun<'_> {
        WatchedRun(self)
    }

    /// Returns the time since the expected report, if the loop hangs.
    #[must_use]
    pub fn overdue(&self) -> Option<Duration> {
        let due = (*self.due.lock())?;
        let late = self.clock.elapsed().saturating_sub(due);
        (late > GRACE).then_some(late)
    }

    fn set(&self, due: Option<Duration>) {
        *self.due.lock() = due;
    }
}

impl Drop for WatchedRun<'_> {
    fn drop(&mut self) {
        self.0.suspend();
    }
}

#[cfg(test)]
mod tests {
    use avocet_testkit::ManualClock;

    use super::*;

    #[test]
    fn receive_watch_is_overdue_only_if_an_expected_report_is_late() {
        let clock = Arc::new(ManualClock::default());
        let watch = ReceiveWatch::new(clock.clone());
        let pass = |seconds| clock.advance(Duration::from_secs(seconds));
        pass(10_000);
        assert_eq!(watch.overdue(), None, "no report is expected");
        watch.expect_within(Duration::from_secs(50));
        pass(50 + 120);
        assert_eq!(watch.overdue(), None, "within the grace");
        pass(1);
        assert_eq!(watch.overdue(), Some(Duration::from_secs(121)));
        watch.suspend();
        pass(10_000);
        assert_eq!(watch.overdue(), None, "the loop waits for the log");
        let run = watch.run();
        watch.expect_within(Duration::ZERO);
        drop(run);
        pass(10_000);
        assert_eq!(watch.overdue(), None, "the loop has ended");
    }
}
