//! Back-off: the delays between retries.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Delays that double from `first` to `longest`, for any number of retries. Each is lengthened by a
/// random part of up to its own length, so that operations that failed together are not retried
/// together.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    waits: ExponentialBackoff,
}

impl Backoff {
    /// Makes a back-off that starts at `first`.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        let waits = ExponentialBuilder::default()
            .with_min_delay(first)
            .with_max_delay(longest)
            .without_max_times()
            .with_jitter()
            .build();
        Self { first, longest, waits }
    }

    /// Returns the next delay.
    pub fn next_wait(&mut self) -> Duration {
        self.waits.next().unwrap_or(self.longest)
    }

    /// Returns to the first delay, after a success.
    pub fn reset_delay(&mut self) {
        *self = Self::new(self.first, self.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_next_wait_doubles_up_to_the_longest_until_reset() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, 60 * second);
        for step in 0..20 {
            let base = second * 2_u32.pow(step.min(6));
            let wait = backoff.next_wait();
            assert!(
                wait >= base.min(60 * second) && wait <= (2 * base).min(120 * second),
                "{wait:?}"
            );
        }
        backoff.reset_delay();
        assert!(backoff.next_wait() <= 2 * second);
    }
}
