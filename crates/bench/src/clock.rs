//! The machine's time: the figures are about nothing else.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use async_trait::async_trait;
use avocet_protocol::{Clock, Timestamp, within};

/// How long the daemon may take for anything before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often something is looked at that cannot be waited for.
const LOOK_AGAIN: Duration = Duration::from_micros(500);

#[expect(clippy::disallowed_methods, reason = "what takes how long is what is measured")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "it idles for as long as it measures idling")]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits for something that has to come soon.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> Result<T> {
    let done = within(&Machine, PATIENCE, work).await;
    done.map_err(|_| anyhow!("{what}: nothing for {} s; is it stuck?", PATIENCE.as_secs()))
}

/// Looks until there is something; what it finds may be that there will be nothing.
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
