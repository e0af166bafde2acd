//! Support for tests: the contract for backends of the store ports, and a log in a temporary
//! directory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub mod contract;

use std::path::Path;
use std::sync::Arc;

use avocet_protocol::bus::QueueMode;
use avocet_protocol::clock::Clock;
use avocet_supervise::Group;
use tempfile::TempDir;

use crate::{Durability, LogHolder, OpenOptions, SqliteStore};

/// A temporary directory for a log.
#[derive(Debug)]
pub struct TempStore {
    directory: TempDir,
}

impl TempStore {
    /// Creates an empty directory.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    /// Returns the data directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns options for a test's daemon: without syncing, because no test cuts the power.
    #[must_use]
    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            directory: self.path().to_owned(),
            durability: Durability::Process,
            default_mode: QueueMode::Queue,
            answer_edits: false,
            start_empty: false,
            redactor: Arc::default(),
            zone: jiff::tz::TimeZone::UTC,
            holder: LogHolder::Daemon,
        }
    }

    /// Starts a daemon on the log. An earlier store must be dropped first.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Arc<SqliteStore> {
        let store = SqliteStore::open(self.options(), clock, &Group::new("test")).await;
        Arc::new(store.unwrap())
    }
}
