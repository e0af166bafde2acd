//! The port of time, so that tests can control it.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time plus `duration`.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// The time minus `duration`.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// The beginning of the day in UTC.
    #[must_use]
    pub fn day_start(self) -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        Self(self.0.saturating_sub(self.0.rem_euclid(DAY)))
    }

    /// The time until `later`; zero if `later` is not later.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// A source of time.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time of day. May jump when the machine's clock is set.
    fn now(&self) -> Timestamp;

    /// Time since a fixed moment of this process. Never goes back.
    fn elapsed(&self) -> Duration;

    /// Returns when `duration` has passed.
    async fn sleep(&self, duration: Duration);

    /// Returns when the time of day is `at` or later, or when the machine's clock was set.
    async fn sleep_until(&self, at: Timestamp) {
        self.sleep(self.now().until(at)).await;
    }
}

/// A timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not completed within {0:?}")]
pub struct Elapsed(pub Duration);

/// Waits for `work`, at most for `limit`.
///
/// # Errors
/// [`Elapsed`] on a timeout; `work` has then been dropped.
pub async fn within<T>(
    clock: &dyn Clock,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = clock.sleep(limit) => Err(Elapsed(limit)),
    }
}

/// Waits for `work`; never returns if it is `None`.
pub async fn or_pending<T>(work: Option<impl Future<Output = T>>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_start_is_midnight_in_utc() {
        const MIDNIGHT: i64 = 1_767_225_600_000;
        let table = [
            (MIDNIGHT - 1, MIDNIGHT - 86_400_000),
            (MIDNIGHT, MIDNIGHT),
            (MIDNIGHT + 86_399_999, MIDNIGHT),
            (-1, -86_400_000),
        ];
        for (moment, start) in table {
            assert_eq!(Timestamp(moment).day_start(), Timestamp(start));
        }
    }
}
