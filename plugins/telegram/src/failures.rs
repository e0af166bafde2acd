//! Failures to receive updates: logged once, then counted.

use std::time::Duration;

use avocet_supervise::Backoff;

/// A poll changes nothing at the platform, so that one broken answer is repeated at once.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The failures since the last received updates.
#[derive(Debug)]
pub(crate) struct Failures {
    pub(crate) backoff: Backoff,
    last: String,
    /// Failures with the same text in a row.
    times: u32,
}

impl Failures {
    pub(crate) fn new() -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { backoff, last: String::new(), times: 0 }
    }

    /// Counts a failure. Returns their number if it is worth a line in the log: the first with
    /// this text, the tenth, the hundredth and so on.
    pub(crate) fn count(&mut self, text: &str) -> Option<u32> {
        if self.last != text {
            text.clone_into(&mut self.last);
            self.times = 0;
        }
        self.times = self.times.saturating_add(1);
        let is_power_of_ten = self.times == 10_u32.pow(self.times.ilog10());
        is_power_of_ten.then_some(self.times)
    }

    /// Clears the failures. Returns the number of the last ones with the same text.
    pub(crate) fn reset(&mut self) -> u32 {
        std::mem::replace(self, Self::new()).times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_returns_the_number_at_powers_of_ten_per_error() {
        let mut failures = Failures::new();
        let logged: Vec<u32> = (0..1000).filter_map(|_| failures.count("reset")).collect();
        assert_eq!(logged, [1, 10, 100, 1000]);
        assert_eq!((failures.count("refused"), failures.count("refused")), (Some(1), None));
        assert_eq!((failures.reset(), failures.reset()), (2, 0));
    }
}
