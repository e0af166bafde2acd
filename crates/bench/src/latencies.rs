//! Measured durations and their percentiles.

use std::time::Duration;

/// Sorted durations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the shortest duration that is at least as long as `percent` % of all. Zero if there
    /// are no durations.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_durations_that_were_measured() {
        let of = |count: u64, percent| {
            let all = (1..=count).rev().map(Duration::from_secs).collect();
            Latencies::new(all).percentile(percent).as_secs()
        };
        for (count, percent, expected) in [
            (0, 50, 0),
            (1, 50, 1),
            (1, 99, 1),
            (2, 50, 1),
            (3, 50, 2),
            (100, 50, 50),
            (100, 99, 99),
            (1000, 95, 950),
            (10, 99, 10),
            (10, 100, 10),
        ] {
            assert_eq!(of(count, percent), expected, "{percent}% of {count}");
        }
    }
}
