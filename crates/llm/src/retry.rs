//! Asking again, where that can help: too many requests, an overloaded server, a broken stream.
//! Never where it cannot: a wrong key, a bad request, no credit.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use avocet_protocol::{Clock, Delta, Deltas, ModelError, ModelReply};
use backon::{BackoffBuilder, ExponentialBuilder};

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// A server that wants to be left alone for longer has to be asked another time.
const LONGEST_ASKED_WAIT: Duration = Duration::from_mins(1);

/// Makes a request up to `1 + retries` times. Before one that is made again, what has been shown of
/// the last is taken back.
pub(crate) async fn retrying<F, A>(
    clock: &dyn Clock,
    retries: usize,
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
        .with_max_times(retries)
        .with_jitter()
        .build();
    loop {
        let error = match attempt().await {
            Err(error) if error.is_transient() => error,
            done => return done,
        };
        let Some(wait) = waits.next() else { return Err(error) };
        let wait = match &error {
            ModelError::Busy { retry_after: Some(asked), .. } if *asked > LONGEST_ASKED_WAIT => {
                return Err(error);
            }
            ModelError::Busy { retry_after: Some(asked), .. } => *asked,
            _ => wait,
        };
        tracing::info!(%error, ?wait, "asking the model again after a while");
        clock.sleep(wait).await;
        deltas(Delta::Restart);
    }
}

/// Passes on what is shown, and takes back only what has been.
pub(crate) struct Shown<'a> {
    deltas: Deltas<'a>,
    any: AtomicBool,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(deltas: Deltas<'a>) -> Self {
        Self { deltas, any: AtomicBool::new(false) }
    }

    pub(crate) fn show(&self, delta: Delta<'_>) {
        let show = match delta {
            Delta::Text("") => false,
            Delta::Text(_) => {
                self.any.store(true, Ordering::Relaxed);
                true
            }
            Delta::Restart => self.any.swap(false, Ordering::Relaxed),
        };
        if show {
            (self.deltas)(delta);
        }
    }
}
