//! The real time, because the load generator measures nothing else.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use async_trait::async_trait;
use avocet_protocol::clock::{Clock, Timestamp, within};

/// Timeout for any single action of the daemon.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Poll interval for conditions that send no notification.
const LOOK_AGAIN: Duration = Duration::from_micros(500);

#[expect(clippy::disallowed_methods, reason = "what takes how long is what is measured")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "it idles for as long as it measures idling")]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits for `work`, with a timeout. `what` describes it in the error.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> Result<T> {
    let done = within(&Machine, TIMEOUT, work).await;
    done.map_err(|_| anyhow!("{what}: nothing for {} s; is it stuck?", TIMEOUT.as_secs()))
}

/// Polls `find` until it returns a value or an error, with a timeout.
pub(crate) async fn look<T>(
    what: &str,
    mut find: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let looking = async {
        loop {
            if let Some(found) = find().await? {
                return Ok(found);
            }
            sleep(LOOK_AGAIN).await;
        }
    };
    soon(what, looking).await?
}

#[derive(Debug)]
struct Machine;

#[async_trait]
impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, duration: Duration) {
        sleep(duration).await;
    }
}
