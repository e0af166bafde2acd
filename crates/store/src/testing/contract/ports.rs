//! The ports that a backend of the contract has to offer.

use std::sync::Arc;

use avocet_protocol::access::People;
use avocet_protocol::store::{
    Audit, Consolidations, DeadLetters, EventLog, History, Inbox, Jobs, KeptResults, Ledger,
    Memories, MemoryFiles, MemoryVectors, Outbox, OwnerRules, Query, Schedules, SessionBranches,
    SessionLabels, StopAll, Tasks, TurnLog, Turns, UpkeepLedger,
};

/// Every port of the store.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct Ports {
    pub inbox: Arc<dyn Inbox>,
    pub turns: Arc<dyn Turns>,
    pub log: Arc<dyn TurnLog>,
    pub kept: Arc<dyn KeptResults>,
    pub ledger: Arc<dyn Ledger>,
    pub outbox: Arc<dyn Outbox>,
    pub memories: Arc<dyn Memories>,
    pub memory_files: Arc<dyn MemoryFiles>,
    pub vectors: Arc<dyn MemoryVectors>,
    pub history: Arc<dyn History>,
    pub people: Arc<dyn People>,
    pub query: Arc<dyn Query>,
    pub branches: Arc<dyn SessionBranches>,
    pub labels: Arc<dyn SessionLabels>,
    pub audit: Arc<dyn Audit>,
    pub jobs: Arc<dyn Jobs>,
    pub tasks: Arc<dyn Tasks>,
    pub dead_letters: Arc<dyn DeadLetters>,
    pub events: Arc<dyn EventLog>,
    pub schedules: Arc<dyn Schedules>,
    pub consolidations: Arc<dyn Consolidations>,
    pub upkeep: Arc<dyn UpkeepLedger>,
    pub rules: Arc<dyn OwnerRules>,
    pub stop: Arc<dyn StopAll>,
}

impl Ports {
    /// Returns the ports of a backend that implements all of them in one type.
    #[must_use]
    pub fn from_store<S>(store: &Arc<S>) -> Self
    where
        S: Inbox
            + Turns
            + TurnLog
            + KeptResults
            + Ledger
            + Outbox
            + Memories
            + MemoryFiles
            + MemoryVectors
            + History
            + People
            + Query
            + SessionBranches
            + SessionLabels
            + Audit
            + Jobs
            + Tasks
            + DeadLetters
            + EventLog
            + Schedules
            + Consolidations
            + UpkeepLedger
            + OwnerRules
            + StopAll
            + 'static,
    {
        Self {
            inbox: store.clone(),
            turns: store.clone(),
            log: store.clone(),
            kept: store.clone(),
            ledger: store.clone(),
            outbox: store.clone(),
            memories: store.clone(),
            memory_files: store.clone(),
            vectors: store.clone(),
            history: store.clone(),
            people: store.clone(),
            query: store.clone(),
            branches: store.clone(),
            labels: store.clone(),
            audit: store.clone(),
            jobs: store.clone(),
            tasks: store.clone(),
            dead_letters: store.clone(),
            events: store.clone(),
            schedules: store.clone(),
            consolidations: store.clone(),
            upkeep: store.clone(),
            rules: store.clone(),
            stop: store.clone(),
        }
    }
}
