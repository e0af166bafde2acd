//! The durable log behind the store ports: one SQLite database in WAL mode, one writer thread with
//! group commit, and a few reader threads. The tables are the queues.
//!
//! - Ports: `inbox`, `outbox`, `turns`, `turn_log`, `calls`, `ledger`, `people`, `memories`,
//!   `memory_files`, `vectors`, `history`, `dead_letters`, `deletion`, `event_log`, `query` and
//!   `audit` implement one port each. Larger transactions have modules of their own, for example
//!   `accept`, `claim` and `commands`.
//! - Shared SQL: `rows`, one submodule for each table.
//! - Transactions: `tx` runs statements; `writer` and `readers` own the threads.
//! - Database file: `open` is the start. `schema` and `migrate` hold the versions; `damage`,
//!   `binding`, `last_exchanges` and `missing` find faults; `copy`, `restore` and `salvage` replace the log.
//!
//! No two modules need each other, except a module and its submodules.

#[cfg(feature = "testing")]
pub mod testing;

mod accept;
mod audit;
mod binding;
mod calls;
mod cancel;
mod check;
mod claim;
mod commands;
mod connect;
mod consolidations;
mod copy;
mod correct;
mod damage;
mod dead_letters;
mod deletion;
mod digest;
mod distrust;
mod error;
mod event_log;
mod files;
mod grants;
mod history;
mod identity;
mod inbox;
mod jobs;
mod kept_message;
mod last;
mod ledger;
mod links;
mod lock;
mod memories;
mod memory_files;
mod migrate;
mod missing;
mod open;
mod outbox;
mod outcome;
mod past;
mod past_cache;
mod past_turns;
mod people;
mod precheck;
mod preview;
mod prompts;
mod query;
mod raw;
mod readers;
mod recorded;
mod recover;
mod reports;
mod restore;
mod retention;
mod retry;
mod rows;
mod salvage;
mod schedule_writes;
mod schedules;
mod schema;
mod sent;
mod space;
mod tasks;
mod turn_log;
mod turn_record;
mod turns;
mod tx;
mod undelivered;
mod vectors;
mod waits;
mod words;
mod writer;

use std::sync::Arc;

use avocet_protocol::{LastExchanges, LogCheck, QueueMode, StoreError, Timestamp};

pub use copy::{CancelCopy, CopyDone, CopyError, back_up};
pub use distrust::EndedWork;
pub use error::OpenError;
pub use files::DATABASE;
pub use lock::{DirectoryLock, LogHolder};
pub use open::OpenOptions;
pub use recorded::RecordedTurn;
pub use restore::{LogReplacement, RecoveredLog, RestoredLog, recover_into};
pub use retention::{ContentKind, OldRows, RemovedBatch};
pub use salvage::{SalvageReport, SavedTable};
pub use space::{LogSize, RowSpace, file_bytes, vacuum_log};
pub use writer::Durability;

use check::RunningCheck;
use past_cache::PastCache;
use readers::ReaderPool;
use tx::{Db, Result, Tx};
use writer::{ChangeNotices, LogWriter};

/// The log in an SQLite database. Implements every store port; clones share the database.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    /// `None` if the log was opened for reading only.
    writer: Option<LogWriter>,
    readers: ReaderPool,
    durability: Durability,
    default_mode: QueueMode,
    answer_edits: bool,
    epoch: i64,
    lock: Option<Arc<DirectoryLock>>,
    /// Set only in read-only mode: time of the last missing transaction, and a description of the
    /// loss.
    missing: Option<(Timestamp, String)>,
    changed: Arc<ChangeNotices>,
    check: RunningCheck,
    pasts: Arc<PastCache>,
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

    async fn write<T: Send + 'static>(
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

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.readers.read(work).await.inspect_err(|error| self.check.note_error(error))
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
