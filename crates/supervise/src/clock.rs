//! The clock of the running system: the adapter behind the `Clock` port.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use avocet_protocol::{Clock, Timestamp};

/// The machine's own time, and tokio's timer.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Makes a clock whose elapsed time starts now.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a default that reads the clock would hide it")]
    #[expect(clippy::disallowed_methods, reason = "this is the adapter that the Clock port is for")]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the adapter that the Clock port is for")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(0).after(since)
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the adapter that the Clock port is for")]
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
