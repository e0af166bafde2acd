//! The handle of the log, through which every port reads and writes.

use std::sync::Arc;

use avocet_protocol::access::RuleList;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::{LastExchanges, Live, LogCheck};
use avocet_protocol::store::{StopInForce, StoreError};

use avocet_text::Redactor;

use crate::check::RunningCheck;
use crate::lock::DirectoryLock;
use crate::past_cache::PastCache;
use crate::readers::ReaderPool;
use crate::tx::{Db, Result, Tx};
use crate::writer::{ChangeNotices, Durability, LogWriter};

/// The log in an SQLite database. Implements every store port; clones share the database.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    /// `None` if the log was opened for reading only.
    pub(crate) writer: Option<LogWriter>,
    pub(crate) readers: ReaderPool,
    pub(crate) durability: Durability,
    pub(crate) default_mode: QueueMode,
    pub(crate) answer_edits: bool,
    pub(crate) epoch: i64,
    pub(crate) lock: Option<Arc<DirectoryLock>>,
    /// Set only in read-only mode: time of the last missing transaction, and a description of the
    /// loss.
    pub(crate) missing: Option<(Timestamp, String)>,
    pub(crate) changed: Arc<ChangeNotices>,
    pub(crate) check: RunningCheck,
    pub(crate) pasts: Arc<PastCache>,
    /// Keeps secrets out of the arguments of calls.
    pub(crate) redactor: Arc<Redactor>,
    /// The rules in force. The writer replaces them with each change.
    pub(crate) rules: Live<RuleList>,
    /// The stop of everything that is in force. The writer replaces it with each change.
    pub(crate) stop: Live<Option<StopInForce>>,
}

impl SqliteStore {
    /// Returns the number of times that a daemon has opened the log, including this one.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Sends an empty write through the writer to see that it responds, and checks that the open
    /// files were neither deleted nor replaced.
    ///
    /// # Errors
    /// [`StoreError`] as for any write.
    pub async fn ping_writer(&self) -> Result<(), StoreError> {
        self.write("ping", Durability::Process, |_| Ok(())).await?;
        self.lock.as_ref().map_or(Ok(()), |lock| lock.check_lock())
    }

    /// Waits until a write finds that the log belongs to another process, or that its file was
    /// deleted or replaced ([`StoreError::is_final`]). Later writes fail in the same way.
    pub async fn wait_until_lost(&self) -> StoreError {
        match &self.writer {
            Some(writer) => writer.wait_until_lost().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the last successful and the last failed write. Empty for a read-only log.
    #[must_use]
    pub fn last_writes(&self) -> LastExchanges {
        self.writer.as_ref().map(LogWriter::last_exchanges).unwrap_or_default()
    }

    /// Returns the state of the check of the database's pages.
    #[must_use]
    pub fn current_check(&self) -> LogCheck {
        self.check.shown_check()
    }

    /// Writes a row without changing it, to test whether the disk accepts writes.
    ///
    /// # Errors
    /// [`StoreError`] as for any write.
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let touch = "UPDATE meta SET epoch = epoch WHERE only = 1";
        self.write("try-write", self.durability, |tx| tx.change_rows(touch, ()).map(drop)).await
    }

    /// Finishes queued writes. Later writes fail with [`StoreError::Closed`]. The last clone
    /// releases the lock.
    pub async fn close(self) {
        self.check.cancel_check();
        if let Some(writer) = &self.writer {
            writer.close().await;
        }
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        durability: Durability,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let writer = self.writer.as_ref().ok_or(StoreError::Closed)?;
        let durability = match self.durability {
            Durability::Process => Durability::Process,
            Durability::Synced => durability,
        };
        let written = writer.write(name, durability, work).await;
        written.inspect_err(|error| self.check.note_error(error))
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.readers.read(work).await.inspect_err(|error| self.check.note_error(error))
    }
}
