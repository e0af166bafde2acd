//! Removes old content from the log at intervals (`[retention]`).

use std::sync::Arc;
use std::time::Duration;

use avocet_config::RetentionConfig;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::store::{DeletedSession, SessionDeletion, StoreError};
use avocet_store::{ContentKind, OldRows, RemovedBatch, SqliteStore};
use avocet_supervise::Group;
use tokio_util::sync::CancellationToken;

use crate::components::kept_copies::DeletionWithCopies;

/// The time from one pass to the next.
const EVERY: Duration = Duration::from_hours(24);
/// The pause between two transactions, in which the writes of turns come first.
const PAUSE: Duration = Duration::from_millis(20);
/// Pages that one transaction gives back to the disk.
const PAGES: u32 = 500;
const MEGABYTE: u64 = 1_000_000;

/// The removal of old content while a daemon runs.
struct Remover {
    limits: RetentionConfig,
    store: Arc<SqliteStore>,
    deletion: DeletionWithCopies,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
}

/// Removes old content and old events now and once a day.
pub(crate) fn start(
    limits: &RetentionConfig,
    deletion: DeletionWithCopies,
    clock: &Arc<dyn Clock>,
    group: &Group,
) {
    let (limits, stop) = (limits.clone(), group.cancel_token());
    let (store, clock) = (deletion.store.clone(), clock.clone());
    let remover = Remover { limits, store, deletion, clock, stop };
    group.spawn("retention", async move {
        while !remover.stop.is_cancelled() {
            remover.deletion.forget_deleted().await;
            match remover.pass().await {
                Ok(removed) if removed > 0 => {
                    tracing::info!(removed, "removed old content from the log");
                }
                Ok(_) | Err(StoreError::Closed) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot remove old content; retrying in 24 h");
                }
            }
            remover.wait(EVERY).await;
        }
    });
}

impl Remover {
    /// Removes everything beyond the limits, and returns the number of removed rows.
    async fn pass(&self) -> Result<u64, StoreError> {
        let RetentionConfig { messages, messages_megabytes, results, results_megabytes, events } =
            &self.limits;
        // Results first: without them, more messages fit.
        let results = self.before(ContentKind::Results, *results, *results_megabytes).await?;
        let mut removed = self.remove(OldRows::Results, results).await?;
        let messages = self.before(ContentKind::Messages, *messages, *messages_megabytes).await?;
        for part in [OldRows::Turns, OldRows::Messages, OldRows::Deliveries] {
            removed += self.remove(part, messages).await?;
        }
        removed += self.delete_one_offs().await?;
        let events = self.clock.now().before(*events);
        removed += self.remove(OldRows::Events, Some(events)).await?;
        if removed > 0 {
            while self.store.shrink_file(PAGES).await? > 0 && !self.stop.is_cancelled() {
                self.wait(PAUSE).await;
            }
        }
        Ok(removed)
    }

    /// Returns the time before which content of a kind is removed; `None` if all of it stays.
    async fn before(
        &self,
        kind: ContentKind,
        age: Option<Duration>,
        megabytes: Option<u64>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let by_age = age.map(|age| self.clock.now().before(age));
        let by_size = match megabytes {
            Some(most) => self.store.excess_before(kind, most.saturating_mul(MEGABYTE)).await?,
            None => None,
        };
        Ok(by_age.max(by_size))
    }

    async fn remove(&self, part: OldRows, before: Option<Timestamp>) -> Result<u64, StoreError> {
        let Some(before) = before else { return Ok(0) };
        let (mut all, mut after) = (0, 0);
        while !self.stop.is_cancelled() {
            let RemovedBatch { removed, next } = self.store.remove_old(part, after, before).await?;
            all += removed;
            match next {
                Some(next) => after = next,
                None => break,
            }
            if removed > 0 {
                self.wait(PAUSE).await;
            }
        }
        Ok(all)
    }

    /// Deletes conversations of one request whose time is over, and returns the number of their
    /// turns. One with open work stays until the next pass.
    async fn delete_one_offs(&self) -> Result<u64, StoreError> {
        let before = self.clock.now().before(Duration::from_hours(24 * SessionId::ONE_OFF_DAYS));
        let (mut all, mut after) = (0, String::new());
        while !self.stop.is_cancelled() {
            let sessions = self.store.old_one_offs(&after, before).await?;
            let Some(last) = sessions.last() else { break };
            if !after.is_empty() {
                self.wait(PAUSE).await;
            }
            after = last.as_str().to_owned();
            for session in &sessions {
                if let DeletedSession::Deleted { turns } =
                    self.deletion.delete_session(session).await?
                {
                    all += turns;
                }
            }
        }
        Ok(all)
    }

    async fn wait(&self, time: Duration) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.clock.sleep(time) => {}
        }
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
