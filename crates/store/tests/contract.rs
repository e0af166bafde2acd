//! Runs the contract of the store ports on SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_store::testing::TempStore;
use avocet_store::testing::contract::{Backend, Ports};
use avocet_testkit::ManualClock;

struct Sqlite {
    log: TempStore,
}

#[async_trait]
impl Backend for Sqlite {
    async fn start(&self) -> Ports {
        Ports::from_store(&self.log.open(Arc::new(ManualClock::default())).await)
    }

    /// All handles are dropped, so the lock is free and writing has ended.
    async fn kill(&self) {}
}

avocet_store::contract_tests!(Sqlite { log: TempStore::new() });
