//! Polls for updates.

use std::time::Duration;

use avocet_protocol::Clock;

use crate::album;
use crate::api::Api;
use crate::fault::BotApiError;
use crate::update::{ALLOWED_UPDATES, Batch, GetUpdates};

/// The extra time after which a poll that hangs is abandoned (F3).
const GRACE: Duration = Duration::from_secs(15);

/// The pause after which an album counts as complete.
const ALBUM_PAUSE: Duration = Duration::from_millis(500);

/// Updates in a full batch (Bot API, `getUpdates`).
const FULL: usize = 100;

/// Polls for updates.
#[derive(Clone, Copy)]
pub(crate) struct Poller<'a> {
    pub(crate) api: &'a Api,
    pub(crate) clock: &'a dyn Clock,
    /// Seconds that a poll stays open.
    pub(crate) seconds: u32,
}

impl Poller<'_> {
    /// The time after which another program's poll with the same token has ended.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) + GRACE
    }

    /// Polls for updates from `next` on, and waits for the rest of an album at the end of the
    /// batch: unconfirmed updates come again. If the batch is full, that album is left for the next
    /// poll.
    pub(crate) async fn poll(&self, next: Option<i64>) -> Result<Batch, BotApiError> {
        let mut batch = self.poll_once(next, self.seconds).await?;
        while album::may_continue(&batch.updates) {
            if batch.len() >= FULL {
                batch.updates.truncate(album::settled(&batch.updates));
                break;
            }
            self.clock.sleep(ALBUM_PAUSE).await;
            match self.poll_once(next, 0).await {
                Ok(more) if more.len() > batch.len() => batch = more,
                _ => break,
            }
        }
        Ok(batch)
    }

    /// A poll from `next` on confirms all earlier updates.
    async fn poll_once(&self, next: Option<i64>, seconds: u32) -> Result<Batch, BotApiError> {
        let allowed_updates = ALLOWED_UPDATES;
        let payload = GetUpdates { offset: next, timeout: seconds, allowed_updates };
        let limit = Duration::from_secs(u64::from(seconds)) + GRACE;
        self.api.call_within(self.clock, limit, payload).await.map(Batch::read)
    }
}
