//! For tests: the contract that every backend of the store ports has to pass, and a log in a
//! directory that goes with the test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub mod contract;

use std::path::Path;
use std::sync::Arc;

use avocet_protocol::{Clock, QueueMode};
use avocet_supervise::Group;
use tempfile::TempDir;

use crate::{Durability, Holder, OpenOptions, SqliteStore};

/// A directory for a log.
#[derive(Debug)]
pub struct TempStore {
    directory: TempDir,
}

impl TempStore {
    /// An empty directory.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    /// Where the log is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How a daemon of a test opens it: fast, because no test cuts the power.
    #[must_use]
    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            directory: self.path().to_owned(),
            durability: Durability::Process,
            default_mode: QueueMode::Queue,
            answer_edits: false,
            start_empty: false,
            redactor: Arc::default(),
            holder: Holder::Daemon,
        }
    }

    /// Starts a daemon on the log. Whoever had it open before has dropped it.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Arc<SqliteStore> {
        let store = SqliteStore::open(self.options(), clock, &Group::new("test")).await;
        Arc::new(store.unwrap())
    }
}
