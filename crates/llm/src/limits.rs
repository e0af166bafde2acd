//! How long a model may take. A slow one that keeps sending is not cut, a silent one is.

use std::future::Future;
use std::time::Duration;

use avocet_protocol::{Clock, ModelError, within};

/// Limits on one request. Connecting has a limit of its own, ten seconds, in the HTTP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until the first piece of the answer.
    pub first_token: Duration,
    /// From one piece to the next.
    pub gap: Duration,
    /// Until the end of the answer.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_token: Duration::from_mins(2),
            gap: Duration::from_mins(1),
            total: Duration::from_mins(15),
        }
    }
}

impl Limits {
    pub(crate) fn of_seconds(first_token: u64, gap: u64, total: u64) -> Self {
        let [first_token, gap, total] = [first_token, gap, total].map(Duration::from_secs);
        Self { first_token, gap, total }
    }

    /// Checks that a request has any time at all.
    ///
    /// # Errors
    /// The key of a limit that is 0, and what it has to be.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { first_token, gap, total } = self;
        let limits =
            [("first_token_seconds", first_token), ("gap_seconds", gap), ("total_seconds", total)];
        match limits.into_iter().find(|(_, limit)| limit.is_zero()) {
            Some((key, _)) => Err((key, "0 is too small; at least 1 second".to_owned())),
            None => Ok(()),
        }
    }
}

/// Holds a part of a request to its limit.
pub(crate) async fn limited<T>(
    clock: &dyn Clock,
    model: &str,
    limit: Duration,
    what: &str,
    part: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, ModelError> {
    within(clock, limit, part).await.unwrap_or_else(|_| {
        let detail = format!("{what} within {} s", limit.as_secs());
        Err(ModelError::TimedOut { model: model.to_owned(), detail })
    })
}
