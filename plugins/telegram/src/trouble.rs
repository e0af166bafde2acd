//! Failures to receive updates: logged once, then counted.

use std::time::Duration;

use avocet_supervise::Backoff;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The failures since updates last came.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) waits: Backoff,
    last: String,
    /// Failures with the same words in a row.
    times: u32,
}

impl Trouble {
    pub(crate) fn new() -> Self {
        let waits = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { waits, last: String::new(), times: 0 }
    }

    /// Counts a failure. Returns their number if it is worth a line in the log: the first in these
    /// words, the tenth, the hundredth and so on.
    pub(crate) fn note(&mut self, words: &str) -> Option<u32> {
        if self.last != words {
            words.clone_into(&mut self.last);
            self.times = 0;
        }
        self.times = self.times.saturating_add(1);
        let is_power_of_ten = self.times == 10_u32.pow(self.times.ilog10());
        is_power_of_ten.then_some(self.times)
    }

    /// Resets the state. Returns the number of failures in the last row.
    pub(crate) fn ends(&mut self) -> u32 {
        std::mem::replace(self, Self::new()).times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_returns_the_count_at_powers_of_ten_per_error() {
        let mut trouble = Trouble::new();
        let logged: Vec<u32> = (0..1000).filter_map(|_| trouble.note("reset")).collect();
        assert_eq!(logged, [1, 10, 100, 1000]);
        assert_eq!((trouble.note("refused"), trouble.note("refused")), (Some(1), None));
        assert_eq!((trouble.ends(), trouble.ends()), (2, 0));
    }
}
