//! Retries writes that a full disk delays, so that they are not lost.

use std::future::Future;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::{Backoff, RepeatedLines};

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(15);

/// Log lines about failed writes to the database. Every waiting caller, and the writer itself,
/// would repeat the same line many times a second.
pub static LOG_WRITES: RepeatedLines = RepeatedLines::new();

/// Retries a write as long as its error is transient.
///
/// # Errors
/// The write's error if it is permanent; the last error if `stop` fires during a wait.
pub async fn with_retry<T, W>(
    clock: &dyn Clock,
    stop: &CancellationToken,
    write: impl Fn() -> W,
) -> Result<T, StoreError>
where
    W: Future<Output = Result<T, StoreError>>,
{
    let mut backoff = Backoff::new(FIRST, LONGEST);
    loop {
        let error = match write().await {
            Err(error) if error.is_transient() => error,
            done => return done,
        };
        let wait = backoff.next_wait();
        if let Some(repeated) = LOG_WRITES.note_line("log", &error.to_string(), clock.elapsed()) {
            tracing::warn!(%error, repeated, "cannot write the log; retrying");
        }
        tokio::select! {
            () = stop.cancelled() => return Err(error),
            () = clock.sleep(wait) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use avocet_testkit::ManualClock;

    use super::*;

    #[tokio::test]
    async fn with_retry_repeats_a_full_write_until_it_succeeds_or_is_stopped() {
        let (clock, stop, tries) = Default::default();
        let (clock, stop, tries): (ManualClock, CancellationToken, AtomicU32) =
            (clock, stop, tries);
        let full = || StoreError::Full { path: "db".to_owned() };
        let write = async || match tries.fetch_add(1, Ordering::Relaxed) {
            0..3 => Err(full()),
            _ => Ok("written"),
        };
        let (written, ()) = tokio::join!(with_retry(&clock, &stop, write), async {
            for _ in 0..3 {
                clock.sleeper(FIRST).await;
                clock.advance(LONGEST);
            }
        });
        assert_eq!(written, Ok("written"));

        let stale = || async { Err::<(), _>(StoreError::Closed) };
        assert_eq!(with_retry(&clock, &stop, stale).await, Err(StoreError::Closed));
        stop.cancel();
        let never = || async { Err::<(), _>(full()) };
        assert_eq!(with_retry(&clock, &stop, never).await, Err(full()));
    }
}
