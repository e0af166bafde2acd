use avocet_protocol::access::Trust;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, NewInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::store::{
    Claim, EventLog, EventSeq, Inbox, Query, Settlement, Suspects, Turns,
};
use avocet_store::{Durability, LogHolder, OpenOptions};
use avocet_testkit::ManualClock;
use tempfile::TempDir;

use super::*;

const DAY: Duration = Duration::from_hours(24);

async fn store(directory: &TempDir, clock: &Arc<dyn Clock>, group: &Group) -> Arc<SqliteStore> {
    let options = OpenOptions {
        directory: directory.path().to_owned(),
        durability: Durability::Process,
        default_mode: QueueMode::Queue,
        answer_edits: false,
        start_empty: false,
        redactor: Arc::default(),
        zone: jiff::tz::TimeZone::UTC,
        holder: LogHolder::Daemon,
    };
    Arc::new(SqliteStore::open(options, clock.clone(), group).await.unwrap())
}

/// Adds an answered message.
async fn answered(store: &SqliteStore, text: &str) {
    answered_in(store, SessionId::parse("terminal:local:a").unwrap(), text).await;
}

async fn answered_in(store: &SqliteStore, session: SessionId, text: &str) {
    let sender = Sender::new("user".parse().unwrap());
    let key = text.split(' ').next().unwrap().parse().unwrap();
    let content = Content::text(text);
    let inbound = Inbound::new(session.address(), sender, key, content);
    let (kind, removed, trust) = (InboundKind::Text, 0, Trust::Full);
    let message = NewInbound { kind, inbound, session: session.clone(), removed, trust };
    store.accept(&message, None).await.unwrap();
    let claim = store.claim(&session, Suspects::Exclude, Duration::ZERO).await.unwrap();
    let Claim::Turn(claimed) = claim else { panic!("{claim:?}") };
    let (outcome, notice) = (Outcome::Error, Some("no".to_owned()));
    let settlement = Settlement { notice, ..Settlement::new(outcome) };
    store.settle(claimed.turn.id, &settlement).await.unwrap();
}

async fn messages(store: &SqliteStore) -> u64 {
    store.log_status().await.unwrap().messages
}

#[tokio::test]
async fn retention_removes_messages_of_an_age_once_a_day() {
    let (directory, group) = (TempDir::new().unwrap(), Group::new("test"));
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let store = store(&directory, &clock, &group).await;
    answered(&store, "1").await;
    manual.advance(DAY);
    answered(&store, "2").await;

    let limits = RetentionConfig { messages: Some(DAY * 3 / 2), ..RetentionConfig::default() };
    start(&limits, &store, &clock, &group);
    for (days, expected) in [(0, 2), (1, 1), (2, 0)] {
        manual.sleeper(EVERY).await;
        assert_eq!(messages(&store).await, expected, "after {days} days");
        manual.advance(EVERY);
    }
    group.cancel_tasks();
}

#[tokio::test]
async fn retention_deletes_conversations_of_one_request_after_their_days() {
    let (directory, group) = (TempDir::new().unwrap(), Group::new("test"));
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let store = store(&directory, &clock, &group).await;
    answered(&store, "1").await;
    answered_in(&store, SessionId::one_off("phone", "1f").unwrap(), "2").await;
    manual.advance(DAY * 2);
    answered_in(&store, SessionId::one_off("phone", "2f").unwrap(), "3").await;
    manual.advance(DAY * 29);

    start(&RetentionConfig::default(), &store, &clock, &group);
    for expected in [2, 2, 1] {
        manual.sleeper(EVERY).await;
        assert_eq!(messages(&store).await, expected);
        manual.advance(EVERY);
    }
    group.cancel_tasks();
}

#[tokio::test]
async fn retention_removes_the_oldest_messages_beyond_a_size() {
    let (directory, group) = (TempDir::new().unwrap(), Group::new("test"));
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let store = store(&directory, &clock, &group).await;
    for number in 0..4 {
        answered(&store, &format!("{number} {}", "x".repeat(400_000))).await;
        manual.advance(Duration::from_secs(1));
    }
    let limits = RetentionConfig { messages_megabytes: Some(1), ..RetentionConfig::default() };
    start(&limits, &store, &clock, &group);
    manual.sleeper(EVERY).await;
    assert_eq!(messages(&store).await, 2);
    group.cancel_tasks();
}

#[tokio::test]
async fn retention_removes_old_events_without_any_limit() {
    let (directory, group) = (TempDir::new().unwrap(), Group::new("test"));
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let store = store(&directory, &clock, &group).await;
    answered(&store, "1").await;
    let range = async || store.event_range().await.unwrap();
    let newest = range().await.newest;
    start(&RetentionConfig::default(), &store, &clock, &group);
    for (days, oldest) in [(0, Some(EventSeq(1))), (30, Some(EventSeq(1))), (31, None)] {
        manual.sleeper(EVERY).await;
        let found = range().await;
        assert_eq!((found.oldest, found.newest), (oldest, newest), "after {days} days");
        manual.advance(DAY * if days == 0 { 30 } else { 1 });
    }
    // A new event continues the numbers.
    manual.sleeper(EVERY).await;
    answered(&store, "2").await;
    assert_eq!(range().await.oldest, Some(EventSeq(newest.0 + 1)));
    assert_eq!(messages(&store).await, 2);
    group.cancel_tasks();
}
