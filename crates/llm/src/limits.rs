//! Timeouts of a request. They stop a silent model, but allow a slow one that keeps sending, up to
//! the total limit.

use std::future::Future;
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::ModelError;

/// Timeouts of one request. Connecting has its own timeout in the HTTP client: 10 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTimeouts {
    /// Until the first piece of the answer.
    pub first_token: Duration,
    /// Between two pieces.
    pub gap: Duration,
    /// Until the end of the answer.
    pub total: Duration,
}

impl Default for RequestTimeouts {
    fn default() -> Self {
        Self {
            first_token: Duration::from_mins(2),
            gap: Duration::from_mins(1),
            total: Duration::from_mins(15),
        }
    }
}

impl RequestTimeouts {
    pub(crate) fn from_seconds(first_token: u64, gap: u64, total: u64) -> Self {
        let [first_token, gap, total] = [first_token, gap, total].map(Duration::from_secs);
        Self { first_token, gap, total }
    }

    /// Checks that every timeout is above zero.
    ///
    /// # Errors
    /// The key of the first timeout that is 0, and the minimum.
    pub(crate) fn check_values(&self) -> Result<(), (&'static str, String)> {
        let Self { first_token, gap, total } = self;
        let limits =
            [("first_token_seconds", first_token), ("gap_seconds", gap), ("total_seconds", total)];
        match limits.into_iter().find(|(_, limit)| limit.is_zero()) {
            Some((key, _)) => Err((key, "0 is too small; at least 1 second".to_owned())),
            None => Ok(()),
        }
    }
}

/// Applies a timeout to a part of a request.
pub(crate) async fn with_timeout<T>(
    clock: &dyn Clock,
    model: &str,
    limit: Duration,
    what: &str,
    part: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, ModelError> {
    within(clock, limit, part).await.unwrap_or_else(|_| {
        let detail = format!("{what} within {} s", limit.as_secs()).into();
        Err(ModelError::TimedOut { model: model.to_owned(), detail })
    })
}
