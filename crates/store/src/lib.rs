//! The durable log behind the store ports: one SQLite database in WAL mode, one writer thread with
//! group commit, a few readers. The tables are the queues.

#[cfg(feature = "testing")]
pub mod testing;

mod audit;
mod cancel;
mod correct;
mod damage;
mod error;
mod inbox;
mod ledger;
mod lock;
mod migrate;
mod notes;
mod open;
mod outbox;
mod past;
mod people;
mod preview;
mod query;
mod readers;
mod recover;
mod rows;
mod turn_log;
mod turns;
mod tx;
mod waits;
mod writer;

use std::sync::Arc;

use avocet_protocol::{QueueMode, StoreError};

pub use error::OpenError;
pub use lock::Holder;
pub use open::{DATABASE, OpenOptions};
pub use writer::Durability;

use lock::Lock;
use readers::Readers;
use tx::{Db, Result, Tx};
use writer::Writer;

/// The log in an SQLite database. Implements every store port; clones share it.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    /// None where the log was opened for looking only.
    writer: Option<Writer>,
    readers: Readers,
    durability: Durability,
    default_mode: QueueMode,
    answer_edits: bool,
    epoch: i64,
    _lock: Option<Arc<Lock>>,
}

impl SqliteStore {
    /// How often a daemon has opened the log, this time included.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Goes through the writer and back, to see that it moves.
    ///
    /// # Errors
    /// [`StoreError`] as for any write.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.write("ping", Durability::Process, |_| Ok(())).await
    }

    /// Writes what waits. Later writes are [`StoreError::Closed`]. The lock goes with the last clone.
    pub async fn close(self) {
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
        writer.write(name, durability, work).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.readers.read(work).await
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
