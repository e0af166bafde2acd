//! Tests of lists by time: the sessions by their last use, and the costs since a time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::{NewInbound, SessionId};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::model::{Spent, Usage};
use avocet_protocol::store::{
    ChangeSession, Inbox, Purpose, Query, SessionLabels, UpkeepLedger, UsageBy,
};
use avocet_store::SqliteStore;
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use tempfile::TempDir;

use crate::support::{message, options};

/// A log whose clock the test moves.
struct TimedLog {
    _directory: TempDir,
    clock: Arc<ManualClock>,
    store: SqliteStore,
    /// Number of messages so far, which gives each its own key.
    said: u32,
}

impl TimedLog {
    async fn open() -> Self {
        let directory = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::default());
        let store = open_at(directory.path(), &clock).await;
        Self { _directory: directory, clock, store, said: 0 }
    }

    /// Accepts a message of a session `seconds` after the one before.
    async fn say_after(&mut self, seconds: u64, session: &str) {
        self.clock.advance(Duration::from_secs(seconds));
        self.said += 1;
        let session = parse_session(session);
        let mut said = message(&format!("message {}", self.said));
        said.inbound.address = session.address();
        self.store.accept(&NewInbound { session, ..said }, None).await.unwrap();
    }

    /// Returns the sessions in their order, each with its seconds since the first message.
    async fn list(&self, first: i64) -> Vec<(String, i64)> {
        let rows = self.store.sessions(10, None).await.unwrap();
        let shown = rows.into_iter().map(|row| {
            let name = row.session.to_string().replace("terminal:local:", "");
            (name, (row.used_at.0 - first) / 1000)
        });
        shown.collect()
    }
}

async fn open_at(directory: &Path, clock: &Arc<ManualClock>) -> SqliteStore {
    SqliteStore::open(options(directory), clock.clone(), &Group::new("test")).await.unwrap()
}

fn parse_session(name: &str) -> SessionId {
    SessionId::parse(&format!("terminal:local:{name}")).unwrap()
}

fn pairs(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect()
}

#[tokio::test]
async fn used_at_of_the_newest_session_moves_once_a_minute() {
    let mut log = TimedLog::open().await;
    log.say_after(0, "a").await;
    let first = log.store.sessions(1, None).await.unwrap()[0].used_at.0;
    for (seconds, shown) in [(30, 0), (30, 0), (1, 61), (59, 61), (2, 122)] {
        log.say_after(seconds, "a").await;
        assert_eq!(log.list(first).await, pairs(&[("a", shown)]), "{seconds} s later");
    }
}

#[tokio::test]
async fn used_at_keeps_the_order_of_sessions_that_are_used_in_turn() {
    let mut log = TimedLog::open().await;
    log.say_after(0, "a").await;
    let first = log.store.sessions(1, None).await.unwrap()[0].used_at.0;
    log.say_after(1, "b").await;
    log.say_after(1, "b").await;
    assert_eq!(log.list(first).await, pairs(&[("b", 1), ("a", 0)]));
    log.say_after(1, "a").await;
    assert_eq!(log.list(first).await, pairs(&[("a", 3), ("b", 1)]), "within a minute, too");
    // At the same moment as `a`, so that no order is lost.
    log.say_after(0, "b").await;
    log.say_after(1, "b").await;
    assert_eq!(log.list(first).await, pairs(&[("b", 4), ("a", 3)]));
}

#[tokio::test]
async fn message_within_a_minute_ends_the_archiving_of_its_session() {
    let mut log = TimedLog::open().await;
    log.say_after(0, "a").await;
    let session = parse_session("a");
    let archive = ChangeSession { session, title: None, is_pinned: None, is_archived: Some(true) };
    assert!(log.store.change_labels(&archive).await.unwrap());
    log.say_after(1, "a").await;
    assert!(!log.store.sessions(1, None).await.unwrap()[0].is_archived);
}

#[tokio::test]
async fn usage_since_a_time_counts_answers_after_the_clock_was_set_back() {
    let log = TimedLog::open().await;
    let spent = Spent { model: "a/b".to_owned(), usage: Usage::new(1, 1), cost: None };
    let mut times = Vec::new();
    for (set_back, advance) in [(0, 0), (0, 48), (20, 0), (0, 30), (3, 0)] {
        log.clock.set_back(Duration::from_hours(set_back));
        log.clock.advance(Duration::from_hours(advance));
        times.push(log.clock.now());
        log.store.record_upkeep(Purpose::Embedding, std::slice::from_ref(&spent)).await.unwrap();
    }
    for since in times.iter().flat_map(|at| [*at, Timestamp(at.0 + 1)]) {
        let expected = times.iter().filter(|at| at.0 >= since.0).count() as u64;
        let rows = log.store.usage(UsageBy::Model, since).await.unwrap();
        let answers = rows.iter().map(|row| row.answers).sum::<u64>();
        assert_eq!(answers, expected, "since {since:?} of {times:?}");
    }
}
