//! Polls for updates.

use std::time::Duration;

use avocet_protocol::Clock;

use crate::album::{self, Hold};
use crate::api::Api;
use crate::fault::BotApiError;
use crate::update::{ALLOWED_UPDATES, Batch, GetUpdates, Update};

/// The extra time after which a poll that hangs is abandoned (F3).
const GRACE: Duration = Duration::from_secs(15);

/// The pause after which an album, a cut text, or a row of forwarded messages counts as complete.
const ALBUM_PAUSE: Duration = Duration::from_millis(500);

/// The longest time for which a batch may grow, so that one chat cannot delay the others for long.
const GROWING: Duration = Duration::from_secs(5);

/// The time for a poll that looks for more parts. The received ones wait meanwhile.
const LOOK_LIMIT: Duration = Duration::from_secs(3);

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

    /// Polls for updates from `next` on, and waits for the rest of the message at the end of the
    /// batch: unconfirmed updates come again. If the batch is full, that message is left for the
    /// next poll.
    ///
    /// A typed text may be a comment on messages that are forwarded with it. A second poll without
    /// a pause looks for them, because every text would have to wait for the pause.
    pub(crate) async fn poll(
        &self,
        next: Option<i64>,
        is_for_bot: impl Fn(&Update) -> bool,
    ) -> Result<Batch, BotApiError> {
        let mut batch = self.poll_once(next, self.seconds, self.longest()).await?;
        let (mut has_looked, received) = (false, self.clock.elapsed());
        loop {
            let hold = album::hold(&batch.updates, &is_for_bot);
            let is_late = self.clock.elapsed() > received + GROWING;
            if hold == Hold::No || (hold == Hold::Once && has_looked) || is_late {
                break;
            }
            if batch.len() >= FULL {
                batch.updates.truncate(album::settled(&batch.updates));
                break;
            }
            if hold == Hold::WhileGrowing {
                self.clock.sleep(ALBUM_PAUSE).await;
            }
            has_looked = true;
            match self.poll_once(next, 0, LOOK_LIMIT).await {
                Ok(more) if more.len() > batch.len() => batch = more,
                _ => break,
            }
        }
        Ok(batch)
    }

    /// A poll from `next` on confirms all earlier updates. It stays open for `seconds`, and is
    /// abandoned after `limit`.
    async fn poll_once(
        &self,
        next: Option<i64>,
        seconds: u32,
        limit: Duration,
    ) -> Result<Batch, BotApiError> {
        let allowed_updates = ALLOWED_UPDATES;
        let payload = GetUpdates { offset: next, timeout: seconds, allowed_updates };
        self.api.call_within(self.clock, limit, payload).await.map(Batch::read)
    }
}
