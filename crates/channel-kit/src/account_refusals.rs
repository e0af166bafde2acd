//! The retries of an account that its platform refuses: its token, or a permission that the operator
//! gives. Such an answer may be false, or the operator may be about to correct it. So the platform is
//! asked again, at growing intervals, because a platform bans hosts that repeat refused requests.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use parking_lot::Mutex;

/// The waits after the first refusals. Each further one waits as long as the last of these.
const WAITS: [Duration; 4] = [
    Duration::from_mins(1),
    Duration::from_mins(5),
    Duration::from_mins(15),
    Duration::from_mins(60),
];

/// The refusals of an account, and the time of its next try.
#[derive(Debug)]
pub struct AccountRefusals {
    clock: Arc<dyn Clock>,
    state: Mutex<RefusalState>,
}

#[derive(Debug, Default)]
struct RefusalState {
    /// Refusals in a row.
    count: usize,
    /// The next try, measured by the clock's `elapsed`.
    next_try: Duration,
}

impl AccountRefusals {
    /// Starts without a refusal.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Records a refusal. Returns the wait before the next try.
    pub fn note_refusal(&self) -> Duration {
        let mut state = self.state.lock();
        let wait = WAITS.get(state.count).or(WAITS.last()).copied().unwrap_or_default();
        state.count += 1;
        state.next_try = self.clock.elapsed().saturating_add(wait);
        wait
    }

    /// Records that the platform accepts the account.
    pub fn note_acceptance(&self) {
        *self.state.lock() = RefusalState::default();
    }

    /// Returns the time until the next try; `None` for an account that is not refused.
    #[must_use]
    pub fn until_next_try(&self) -> Option<Duration> {
        let state = self.state.lock();
        (state.count > 0).then(|| state.next_try.saturating_sub(self.clock.elapsed()))
    }

    /// Says for the operator when the next try is; `None` for an account that is not refused.
    #[must_use]
    pub fn describe_next_try(&self) -> Option<String> {
        let minutes = self.until_next_try()?.as_secs().div_ceil(60);
        let count = self.state.lock().count;
        Some(format!(
            "refused {count} time{}, asking again in {minutes} min, or at once when the \
             configuration is reloaded",
            if count == 1 { "" } else { "s" }
        ))
    }
}

#[cfg(test)]
mod tests {
    use avocet_testkit::ManualClock;

    use super::*;

    #[test]
    fn account_refusals_wait_longer_each_time_until_the_account_is_accepted() {
        let clock = Arc::new(ManualClock::default());
        let refusals = AccountRefusals::new(clock.clone());
        assert_eq!(refusals.describe_next_try(), None);
        for _ in 0..2 {
            let minutes: Vec<u64> =
                (0..6).map(|_| refusals.note_refusal().as_secs() / 60).collect();
            assert_eq!(minutes, [1, 5, 15, 60, 60, 60]);
            clock.advance(Duration::from_mins(20));
            assert_eq!(refusals.until_next_try(), Some(Duration::from_mins(40)));
            let described = refusals.describe_next_try().unwrap();
            assert!(
                described.starts_with("refused 6 times, asking again in 40 min"),
                "{described}"
            );
            refusals.note_acceptance();
            assert_eq!(refusals.until_next_try(), None);
        }
    }
}
