//! The durable log behind the store ports: one SQLite database in WAL mode, one writer thread with
//! group commit, and a few reader threads. The tables are the queues.
//!
//! - Ports: `inbox`, `outbox`, `turns`, `turn_log`, `calls`, `ledger`, `people`, `memories`,
//!   `rules`, `memory_files`, `vectors`, `history`, `dead_letters`, `deletion`, `event_log`, `query`,
//!   `stop_all` and `audit` implement one port each. Larger transactions have modules of their own, for example
//!   `accept`, `claim` and `commands`.
//! - Shared SQL: `rows`, one submodule for each table.
//! - Transactions: `tx` runs statements; `writer` and `readers` own the threads.
//! - Personal data: `erase` removes it and `person_data` collects it.
//! - Database file: `open` is the start. `schema` and `migrate` hold the versions; `damage`,
//!   `binding`, `last_exchanges` and `missing` find faults; `copy`, `restore` and `salvage` replace the log.
//!
//! No two modules need each other, except a module and its submodules.

#[cfg(feature = "testing")]
pub mod testing;

mod accept;
mod audit;
mod binding;
mod branch;
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
mod erase;
mod error;
mod event_log;
mod files;
mod grants;
mod history;
mod identity;
mod inbox;
mod jobs;
mod joined_message;
mod kept_message;
mod last;
mod ledger;
mod links;
mod lock;
mod memories;
mod memory_count;
mod memory_files;
mod migrate;
mod missing;
mod open;
mod outbox;
mod outcome;
mod own_texts;
mod past;
mod past_cache;
mod past_turns;
mod people;
mod person_data;
mod precheck;
mod preview;
mod prompts;
mod put_back;
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
mod rules;
mod salvage;
mod schedule_writes;
mod schedules;
mod schema;
mod sent;
mod session_list;
mod space;
mod sqlite_store;
mod stop_all;
mod tasks;
mod turn_log;
mod turn_record;
mod turns;
mod tx;
mod undelivered;
mod vectors;
mod waits;
mod wal_begin;
mod withdraw;
mod words;
mod writer;

pub use copy::{CancelCopy, CopyDone, CopyError, back_up};
pub use distrust::EndedWork;
pub use erase::{
    EraseError, EraseSubject, ErasedCounts, ErasedIds, PreparedErasure, near_people,
    prepare_erasure,
};
pub use error::{OpenError, is_on_read_only_disk};
pub use files::DATABASE;
pub use lock::{DirectoryLock, LogHolder};
pub use open::OpenOptions;
pub use person_data::PersonData;
pub use recorded::RecordedTurn;
pub use restore::{LogReplacement, RecoveredLog, RestoredLog, recover_into};
pub use retention::{ContentKind, OldRows, RemovedBatch};
pub use salvage::{SalvageReport, SavedTable};
pub use space::{LogSize, RowSpace, file_bytes, vacuum_log};
pub use sqlite_store::SqliteStore;
pub use writer::Durability;

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
