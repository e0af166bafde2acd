//! The contract of the store ports, passed by SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::QueueMode;
use avocet_store::contract::{Backend, Ports};
use avocet_store::{Durability, Holder, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use tempfile::TempDir;

struct Sqlite {
    directory: TempDir,
    clock: Arc<ManualClock>,
}

impl Sqlite {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), clock: Arc::default() }
    }
}

#[async_trait]
impl Backend for Sqlite {
    async fn start(&self) -> Ports {
        let options = OpenOptions {
            directory: self.directory.path().to_owned(),
            durability: Durability::Synced,
            default_mode: QueueMode::Queue,
            start_empty: false,
            holder: Holder::Daemon,
        };
        let store = SqliteStore::open(options, self.clock.clone(), &Group::new("test")).await;
        Ports::of(&Arc::new(store.unwrap()))
    }

    /// Every handle is dropped, so the lock is free and nothing more is written.
    async fn kill(&self) {}
}

avocet_store::contract_tests!(Sqlite::new());
