//! Rate limits and their headers.

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;

use super::error::ApiError;
use super::rest::{ParsedRequest, Route};

/// Maximum number of writes of one kind in one channel during [`CHANNEL_WINDOW`].
pub const CHANNEL_LIMIT: u32 = 5;
/// See [`CHANNEL_LIMIT`].
pub const CHANNEL_WINDOW: Duration = Duration::from_secs(5);
/// Maximum number of requests of a bot per second, all together (Rate Limits, API reference).
pub const GLOBAL_LIMIT: u32 = 50;
const GLOBAL_WINDOW: Duration = Duration::from_secs(1);
/// Time between two reactions in one channel.
const REACTION_WINDOW: Duration = Duration::from_millis(250);

/// Requests with a common limit: the same route, and the same first id in the path.
type Bucket = (Route, u64);

#[derive(Debug, Clone, Copy)]
struct Window {
    until: Timestamp,
    used: u32,
}

/// The values for the headers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    bucket: Bucket,
    limit: u32,
    remaining: u32,
    reset: Timestamp,
    reset_after: Duration,
}

/// The limits and their use so far.
#[derive(Debug)]
pub(super) struct EnforcedLimits {
    pub(super) on: bool,
    buckets: BTreeMap<Bucket, Window>,
    global: Window,
}

impl Default for EnforcedLimits {
    fn default() -> Self {
        let global = Window { until: Timestamp(0), used: 0 };
        Self { on: true, buckets: BTreeMap::new(), global }
    }
}

impl Window {
    /// Counts a request. Returns the time to wait if the limit is exceeded.
    fn take(&mut self, now: Timestamp, limit: u32, length: Duration) -> Result<(), Duration> {
        if self.until <= now {
            *self = Self { until: now.after(length), used: 0 };
        }
        if self.used >= limit {
            return Err(now.until(self.until));
        }
        self.used += 1;
        Ok(())
    }
}

impl EnforcedLimits {
    /// Counts a request. Returns the values for the headers, and the refusal if a limit is
    /// exceeded.
    pub(super) fn take(
        &mut self,
        call: &ParsedRequest,
        now: Timestamp,
    ) -> (Standing, Result<(), ApiError>) {
        let (limit, length) = limit(call.route);
        let bucket = (call.route, call.major);
        if !self.on {
            let remaining = limit.saturating_sub(1).max(1);
            let (reset, reset_after) = (now.after(length), length);
            return (Standing { bucket, limit, remaining, reset, reset_after }, Ok(()));
        }
        let window = self.buckets.entry(bucket).or_insert(Window { until: now, used: 0 });
        let mut taken = window.take(now, limit, length).map_err(ApiError::rate_limited);
        // Answers to interactions are exempt from the global limit.
        if taken.is_ok() && !call.route.is_open() {
            let global = self.global.take(now, GLOBAL_LIMIT, GLOBAL_WINDOW);
            taken = global.map_err(ApiError::globally_limited);
        }
        let remaining = limit - window.used;
        let (reset, reset_after) = (window.until, now.until(window.until));
        (Standing { bucket, limit, remaining, reset, reset_after }, taken)
    }
}

impl Standing {
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let (route, major) = self.bucket;
        vec![
            ("x-ratelimit-limit", self.limit.to_string()),
            ("x-ratelimit-remaining", self.remaining.to_string()),
            ("x-ratelimit-reset", seconds(u128::try_from(self.reset.0).unwrap_or_default())),
            ("x-ratelimit-reset-after", seconds(self.reset_after.as_millis())),
            ("x-ratelimit-bucket", format!("{route:?}-{major}").to_lowercase()),
        ]
    }
}

/// Formats seconds with three decimal places.
fn seconds(millis: u128) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn limit(route: Route) -> (u32, Duration) {
    match route {
        Route::CreateMessage | Route::EditMessage | Route::DeleteMessage | Route::Typing => {
            (CHANNEL_LIMIT, CHANNEL_WINDOW)
        }
        Route::AddReaction | Route::RemoveReaction => (1, REACTION_WINDOW),
        _ => (GLOBAL_LIMIT, GLOBAL_WINDOW),
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
