use std::fs;
use std::path::Path;

use avocet_protocol::access::Trust;
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, NewInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::store::{
    Claim, EventLog, EventSeq, Inbox, Query, Settlement, Suspects, Turns,
};
use avocet_protocol::tool::UndoPlace;
use avocet_sandbox::KeptCopies;
use avocet_store::{Durability, LogHolder, OpenOptions};
use avocet_supervise::run_blocking;
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

fn deletion(store: &Arc<SqliteStore>, directory: &TempDir) -> DeletionWithCopies {
    let copies = KeptCopies::open(directory.path().join("changes"), Vec::new());
    DeletionWithCopies { store: store.clone(), copies: Arc::new(copies) }
}

/// Changes a file in a call that a person has to review.
async fn change_file(deletion: &DeletionWithCopies, session: &SessionId, root: &Path) {
    let place = UndoPlace { root: root.to_owned(), paths: vec!["a.md".into()], trees: vec![] };
    let (copies, session, file) = (deletion.copies.clone(), session.clone(), root.join("a.md"));
    let change = run_blocking(move || {
        copies.begin_changes(&session, &[place]).unwrap();
        fs::write(file, "x").unwrap();
        copies.end_changes(&session).unwrap();
    });
    change.await.unwrap();
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
    start(&limits, deletion(&store, &directory), &clock, &group);
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

    start(&RetentionConfig::default(), deletion(&store, &directory), &clock, &group);
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
    start(&limits, deletion(&store, &directory), &clock, &group);
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
    start(&RetentionConfig::default(), deletion(&store, &directory), &clock, &group);
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

#[tokio::test]
async fn deletion_forgets_the_copies_of_a_conversation_and_keeps_its_changes() {
    let (directory, group) = (TempDir::new().unwrap(), Group::new("test"));
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let store = store(&directory, &clock, &group).await;
    let work = TempDir::new().unwrap();
    let session = |id: &str| SessionId::parse(id).unwrap();
    let (deleted, other) = (session("terminal:local:a"), session("terminal:local:b"));
    answered_in(&store, deleted.clone(), "1").await;
    answered_in(&store, other.clone(), "2").await;
    let deletion = deletion(&store, &directory);
    // A sub-agent has no turn of its own left when the conversation that started it is gone.
    let child = session("spawn:t1:s0c0");
    for (number, session) in [&deleted, &other, &child].into_iter().enumerate() {
        let root = work.path().join(number.to_string());
        fs::create_dir(&root).unwrap();
        change_file(&deletion, session, &root).await;
    }
    assert_eq!(
        deletion.delete_session(&deleted).await.unwrap(),
        DeletedSession::Deleted { turns: 1 }
    );
    assert_eq!(deletion.copies.list_conversations(), std::slice::from_ref(&other));
    assert_eq!(fs::read_dir(directory.path().join("changes")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(work.path().join("0/a.md")).unwrap(), "x");
    let unknown = deletion.delete_session(&deleted).await.unwrap();
    assert_eq!(unknown, DeletedSession::Unknown);
    assert!(deletion.copies.has_copies(&other));
}

#[tokio::test]
async fn retention_forgets_the_copies_of_deleted_conversations_at_the_start() {
    let (directory, group) = (TempDir::new().unwrap(), Group::new("test"));
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let store = store(&directory, &clock, &group).await;
    answered(&store, "1").await;
    let deletion = deletion(&store, &directory);
    let work = TempDir::new().unwrap();
    let session = SessionId::parse("terminal:local:a").unwrap();
    change_file(&deletion, &session, work.path()).await;
    // A crash comes before the copies are forgotten.
    store.delete_session(&session).await.unwrap();
    let copies = deletion.copies.clone();
    start(&RetentionConfig::default(), deletion, &clock, &group);
    manual.sleeper(EVERY).await;
    assert!(!copies.has_copies(&session));
    group.cancel_tasks();
}
