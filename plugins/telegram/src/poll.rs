//! One poll for updates: its timeout and its result.

use std::time::Duration;

use avocet_protocol::within;
use teloxide::types::AllowedUpdate;

use crate::album;
use crate::fault::BotApiError;
use crate::receive::{Receiver, Stopped};
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
    pub(crate) async fn poll_whole_albums(
        &self,
        next: Option<i64>,
    ) -> Result<Result<Batch, BotApiError>, Stopped> {
        let mut polled = self.poll(next, self.telegram.poll_seconds).await?;
        while let Ok(batch) = &mut polled
            && album::may_go_on(&batch.updates)
        {
            if batch.len() >= FULL {
                batch.updates.truncate(album::settled(&batch.updates));
                break;
            }
            self.unless_stopped(self.context.clock.sleep(ALBUM_PAUSE)).await?;
            let again = self.poll(next, 0).await?;
            match again {
                Ok(more) if more.len() > batch.len() => polled = Ok(more),
                _ => break,
            }
        }
        Ok(polled)
    }

    /// Polls for updates from `next` on, which confirms all earlier ones.
    async fn poll(
        &self,
        next: Option<i64>,
        seconds: u32,
    ) -> Result<Result<Batch, BotApiError>, Stopped> {
        use AllowedUpdate::{CallbackQuery, EditedMessage, Message};
        let allowed_updates = [Message, EditedMessage, CallbackQuery];
        let payload = GetUpdates { offset: next, timeout: seconds, allowed_updates };
        let limit = Duration::from_secs(u64::from(seconds)) + GRACE;
        let polled = within(self.context.clock.as_ref(), limit, self.telegram.api.call(payload));
        let polled =
            self.unless_stopped(polled).await?.unwrap_or_else(|_| Err(BotApiError::timed_out()));
        Ok(polled.map(Batch::read))
    }
}
