//! One poll for updates: its timeout and its result.

use std::time::Duration;

use teloxide::types::AllowedUpdate;

use crate::album;
use crate::fault::BotApiError;
use crate::receive::Receiver;
use crate::update::{Batch, GetUpdates};

/// The extra time after which a poll that hangs is abandoned (F3).
pub(crate) const GRACE: Duration = Duration::from_secs(15);

/// The pause after which an album counts as complete.
const ALBUM_PAUSE: Duration = Duration::from_millis(500);

/// Updates in a full batch (Bot API, `getUpdates`).
const FULL: usize = 100;

impl Receiver<'_> {
    /// Like [`Self::poll`], but waits for the rest of an album at the end of the batch: unconfirmed
    /// updates come again. If the batch is full, that album is left for the next poll.
    pub(crate) async fn poll_whole_albums(&self, next: Option<i64>) -> Result<Batch, BotApiError> {
        let mut batch = self.poll(next, self.telegram.poll_seconds).await?;
        while album::may_go_on(&batch.updates) {
            if batch.len() >= FULL {
                batch.updates.truncate(album::settled(&batch.updates));
                break;
            }
            self.context.clock.sleep(ALBUM_PAUSE).await;
            match self.poll(next, 0).await {
                Ok(more) if more.len() > batch.len() => batch = more,
                _ => break,
            }
        }
        Ok(batch)
    }

    /// Polls for updates from `next` on, which confirms all earlier ones.
    async fn poll(&self, next: Option<i64>, seconds: u32) -> Result<Batch, BotApiError> {
        use AllowedUpdate::{CallbackQuery, EditedMessage, Message};
        let allowed_updates = [Message, EditedMessage, CallbackQuery];
        let payload = GetUpdates { offset: next, timeout: seconds, allowed_updates };
        let limit = Duration::from_secs(u64::from(seconds)) + GRACE;
        let polled = self.within(limit, self.telegram.api.call(payload)).await?;
        Ok(Batch::read(polled))
    }
}
