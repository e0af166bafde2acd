//! Polls for updates.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use avocet_protocol::clock::Clock;

use crate::album;
use crate::api::Api;
use crate::fault::BotApiError;
use crate::update::{ALLOWED_UPDATES, Batch, GetUpdates, PolledUpdates, Update};

/// The extra time after which a poll that hangs is abandoned (F3).
const GRACE: Duration = Duration::from_secs(15);

/// The time for a poll that looks for more parts. The received ones wait meanwhile.
const LOOK_LIMIT: Duration = Duration::from_secs(3);

/// The wait after a conflict with a poll of our own that was abandoned. The platform has ended that
/// poll with the conflict.
const AFTER_ABANDONED: Duration = Duration::from_secs(1);

/// Updates in a full batch (Bot API, `getUpdates`).
const FULL: usize = 100;

/// Polls for updates.
#[derive(Clone, Copy)]
pub(crate) struct Poller<'a> {
    pub(crate) api: &'a Api,
    pub(crate) clock: &'a dyn Clock,
    /// Seconds that a poll stays open.
    pub(crate) seconds: u32,
    /// `true` if the last poll was abandoned, so that it may still be open at the platform.
    pub(crate) was_abandoned: &'a AtomicBool,
}

impl Poller<'_> {
    /// The time after which another program's poll with the same token has ended.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) + GRACE
    }

    /// Polls for updates from `next` on. A typed text may be a comment on messages that are forwarded
    /// with it. A second poll without a pause looks for them, so that most of them begin one turn.
    pub(crate) async fn poll(
        &self,
        next: Option<i64>,
        is_for_bot: impl Fn(&Update) -> bool,
    ) -> Result<Batch, BotApiError> {
        let may_conflict = self.was_abandoned.swap(false, Ordering::Relaxed);
        let mut polled = self.poll_once(next, self.seconds, self.longest()).await;
        if may_conflict && polled.as_ref().is_err_and(is_conflict) {
            tracing::debug!("the last poll was abandoned and still open; polling again");
            self.clock.sleep(AFTER_ABANDONED).await;
            polled = self.poll_once(next, self.seconds, self.longest()).await;
        }
        let batch = polled?;
        if batch.len() >= FULL || !album::may_have_forwards(&batch.updates, is_for_bot) {
            return Ok(batch);
        }
        match self.poll_once(next, 0, LOOK_LIMIT).await {
            Ok(more) if more.len() > batch.len() => Ok(more),
            _ => Ok(batch),
        }
    }

    /// A poll from `next` on confirms all earlier updates. It stays open for `seconds`, and is
    /// abandoned after `limit`. If the list cannot be decoded, its first update is polled alone; if
    /// that cannot be decoded either, it becomes an update that is counted as unreadable.
    async fn poll_once(
        &self,
        next: Option<i64>,
        seconds: u32,
        limit: Duration,
    ) -> Result<Batch, BotApiError> {
        if let PolledUpdates::Decoded(updates) = self.get(next, None, seconds, limit).await? {
            return Ok(Batch::read(updates));
        }
        match self.get(next, Some(1), 0, LOOK_LIMIT).await? {
            PolledUpdates::Decoded(updates) => Ok(Batch::read(updates)),
            PolledUpdates::Undecodable { first } => {
                // Without its own id, it gets the lowest that it can have. If that is too low, the
                // next poll returns the same update and counts on.
                let id = first.or(next);
                let id = id.ok_or(BotApiError::Broken("the list of updates cannot be read"))?;
                tracing::warn!(update = id, "an update of Telegram is no JSON; skipping it");
                Ok(Batch { updates: vec![Update::undecodable(id)], without_id: 0 })
            }
        }
    }

    async fn get(
        &self,
        offset: Option<i64>,
        most: Option<u8>,
        seconds: u32,
        limit: Duration,
    ) -> Result<PolledUpdates, BotApiError> {
        let allowed_updates = ALLOWED_UPDATES;
        let payload = GetUpdates { offset, limit: most, timeout: seconds, allowed_updates };
        let polled = self.api.get_updates(self.clock, limit, payload).await;
        if polled.as_ref().is_err_and(BotApiError::has_unknown_outcome) {
            self.was_abandoned.store(true, Ordering::Relaxed);
        }
        polled
    }
}

/// Returns `true` if another poll with the same token has ended this one (F4).
pub(crate) fn is_conflict(fault: &BotApiError) -> bool {
    fault.has_code(409) && fault.contains("terminated by other getUpdates")
}
