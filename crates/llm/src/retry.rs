//! Retries requests after temporary errors: rate limits, an overloaded server, a broken stream.
//! Permanent errors are returned at once: a wrong key, a bad request, used-up credit.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::model::{
    Delta, Deltas, FailedAttempt, ModelError, ModelReply, Retries, Spent, Usage,
};
use backon::{BackoffBuilder, ExponentialBuilder};

/// Estimated bytes per token, for providers that report no usage.
pub(crate) const BYTES_A_TOKEN: u64 = 4;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// With a longer delay, the request fails at once and may be made again later.
const LONGEST_ASKED_WAIT: Duration = Duration::from_mins(1);

/// A longer delay makes another model answer instead, if there is one.
const LONGEST_WAIT_BEFORE_ANOTHER: Duration = Duration::from_secs(5);

/// The number of retries, and the errors after which they follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryLimit {
    times: usize,
    /// The longest delay that a provider may ask for.
    longest_wait: Duration,
    after_timeouts: bool,
}

impl RetryLimit {
    /// Combines the configured number of retries with the wish of the request.
    pub(crate) fn new(configured: usize, wanted: Retries) -> Self {
        match wanted {
            Retries::Configured => {
                let longest_wait = LONGEST_ASKED_WAIT;
                Self { times: configured, longest_wait, after_timeouts: true }
            }
            Retries::Few => {
                let longest_wait = LONGEST_WAIT_BEFORE_ANOTHER;
                Self { times: configured.min(1), longest_wait, after_timeouts: false }
            }
        }
    }

    fn may_follow(self, error: &ModelError) -> bool {
        self.after_timeouts || !matches!(error, ModelError::TimedOut { .. })
    }
}

/// Makes the first attempt and up to `retries` more. Each retry first takes back the text that the attempt before
/// it has shown.
pub(crate) async fn complete_with_retries<F, A>(
    clock: &dyn Clock,
    retries: RetryLimit,
    deltas: Deltas<'_>,
    attempt: F,
) -> Result<ModelReply, ModelError>
where
    F: Fn() -> A,
    A: Future<Output = Result<ModelReply, ModelError>>,
{
    let mut waits = ExponentialBuilder::default()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_max_times(retries.times)
        .with_jitter()
        .build();
    loop {
        let began = clock.now();
        let error = match attempt().await {
            Err(error) if error.is_transient() && retries.may_follow(&error) => error,
            done => return done,
        };
        let Some(wait) = waits.next() else { return Err(error) };
        let wait = match &error {
            ModelError::Busy { retry_after: Some(asked), .. } if *asked > retries.longest_wait => {
                return Err(error);
            }
            ModelError::Busy { retry_after: Some(asked), .. } => *asked,
            _ => wait,
        };
        tracing::info!(%error, ?wait, "retrying the model request after a pause");
        deltas(Delta::Retry(FailedAttempt { error: &error, began }));
        clock.sleep(wait).await;
        deltas(Delta::Restart);
    }
}

/// Passes deltas on. A restart is passed on only if text was shown before.
pub(crate) struct ShownDeltas<'a> {
    deltas: Deltas<'a>,
    /// Bytes of text.
    written: AtomicU64,
    /// `true` once the model has accepted the request.
    begun: AtomicBool,
}

impl<'a> ShownDeltas<'a> {
    pub(crate) fn new(deltas: Deltas<'a>) -> Self {
        Self { deltas, written: AtomicU64::new(0), begun: AtomicBool::new(false) }
    }

    /// Marks the request as accepted by the model. From now on its cost counts, even if it fails.
    pub(crate) fn mark_begun(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    pub(crate) fn show_delta(&self, delta: Delta<'_>) {
        let show = match delta {
            Delta::Text("") | Delta::Thought("") => false,
            Delta::Text(text) => {
                self.mark_begun();
                self.written.fetch_add(text.len() as u64, Ordering::Relaxed);
                true
            }
            Delta::Restart => self.written.swap(0, Ordering::Relaxed) > 0,
            Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => true,
        };
        if show {
            (self.deltas)(delta);
        }
    }

    /// Runs one attempt of a request with `input` tokens. If the attempt fails after the model may
    /// have begun, reports its estimated cost as lost. The same applies if this future is dropped,
    /// because the request may have arrived.
    pub(crate) async fn run_attempt(
        &self,
        model: &str,
        input: u64,
        asking: impl Future<Output = Result<ModelReply, ModelError>>,
    ) -> Result<ModelReply, ModelError> {
        self.begun.store(false, Ordering::Relaxed);
        let mut attempt = CountedAttempt { shown: self, model, input, is_lost: true };
        let answered = asking.await;
        attempt.is_lost = match &answered {
            Ok(_) => false,
            Err(error) => error.may_have_cost() || self.begun.load(Ordering::Relaxed),
        };
        answered
    }
}

/// An attempt. Reports its lost cost when it is dropped.
struct CountedAttempt<'a> {
    shown: &'a ShownDeltas<'a>,
    model: &'a str,
    input: u64,
    is_lost: bool,
}

impl Drop for CountedAttempt<'_> {
    fn drop(&mut self) {
        if self.is_lost {
            let output = self.shown.written.load(Ordering::Relaxed) / BYTES_A_TOKEN;
            let (model, usage) = (self.model.to_owned(), Usage::new(self.input, output));
            self.shown.show_delta(Delta::Lost(&Spent { model, usage, cost: None }));
        }
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
