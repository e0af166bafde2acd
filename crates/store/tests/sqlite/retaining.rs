//! Tests of the removal of old rows, and of the size of the log.

use std::path::Path;

use avocet_protocol::clock::Timestamp;
use avocet_store::{
    ContentKind, DATABASE, DirectoryLock, LogHolder, OldRows, RemovedBatch, SqliteStore, vacuum_log,
};
use avocet_testkit::ManualClock;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{PAGE, open};

/// Adds an ended turn of the session `s`, with a row in every table that refers to turns.
pub(crate) fn add_turn(log: &Connection, turn: i64) {
    let content = format!("{{\"text\":\"word{turn}\"}}");
    let result = format!("\"{}\"", "r".repeat(1000));
    let reasoning = r#"{"model":"a/b","content":[]}"#;
    let arguments = r#"{"object":{}}"#;
    let sql = format!(
        "INSERT OR IGNORE INTO sessions (id, used_at) VALUES ('terminal:local:s', 1);
         INSERT INTO turns (id, session, state, started_at, ended_at) \
             VALUES ({turn}, 'terminal:local:s', 'done', {turn}, {turn});
         INSERT INTO turns (id, session, state, parent, root, started_at, ended_at) VALUES \
             ({turn} + 1000, 'child:{turn}', 'done', {turn}, {turn}, {turn}, {turn});
         INSERT INTO inbound (id, session, channel, account, chat, key, sender, kind, content, removed, \
             state, outcome, turn, received_at) VALUES ({turn}, 'terminal:local:s', 'terminal', 'local', \
             's', 'k{turn}', 'u1', 'text', '{content}', 0, 'done', 'replied', {turn}, {turn});
         INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed, reasoning) \
             VALUES ({turn}, 0, 'answer{turn}', 1, 1, 1, '{reasoning}'), ({turn} + 1000, 0, 'sub', 1, 1, 1, NULL);
         INSERT INTO calls (turn, step, ordinal, name, arguments, state, ok, result) \
             VALUES ({turn}, 0, 0, 'spawn', '{arguments}', 'finished', 1, '{result}');
         INSERT INTO kept_results (handle, session, body) VALUES ('t{turn}s0c0', 'terminal:local:s', '1');
         INSERT INTO waits (turn, step, ordinal, kind, child, expires_at, resolved) \
             VALUES ({turn}, 0, 0, 'child', {turn} + 1000, 1, 1);
         INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state, created_at) \
             VALUES ('terminal', 'local', 's', {turn}, 0, 0, 'reply', '{content}', 'sent', {turn});
         INSERT INTO usage (at, session, turn, purpose, model, input, cached, cache_written, output, child) \
             VALUES ({turn}, 'terminal:local:s', {turn}, 'answer', 'a/b', 1, 0, 0, 1, {turn} + 1000);
         INSERT INTO memories (scope, text, words, turn, message, written_at) \
             VALUES ('everyone', 'm{turn}', 'm{turn}', {turn}, {turn}, {turn});
         INSERT INTO audit (at, kind, turn, actor, summary, previous, hash) \
             VALUES ({turn}, 'call', {turn}, 'host', 's', 'p', 'h');"
    );
    log.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    log.execute(
        &format!("INSERT OR IGNORE INTO sessions (id, used_at) VALUES ('child:{turn}', 1)"),
        (),
    )
    .unwrap();
    log.execute_batch(&sql).unwrap();
}

fn log(directory: &Path) -> Connection {
    Connection::open(directory.join(DATABASE)).unwrap()
}

pub(crate) fn count(log: &Connection, sql: &str) -> i64 {
    log.query_row(&format!("SELECT count(*) FROM {sql}"), (), |row| row.get(0)).unwrap()
}

/// Removes rows as the daemon does: batch by batch.
pub(crate) async fn remove(store: &SqliteStore, part: OldRows, before: i64) -> u64 {
    let (mut removed, mut after) = (0, 0);
    loop {
        let batch = store.remove_old(part, after, Timestamp(before)).await.unwrap();
        removed += batch.removed;
        match batch.next {
            Some(next) => after = next,
            None => return removed,
        }
    }
}

pub(crate) async fn opened(turns: std::ops::Range<i64>) -> (TempDir, SqliteStore, Connection) {
    let directory = TempDir::new().unwrap();
    open(directory.path()).await.unwrap().close().await;
    let log = log(directory.path());
    turns.for_each(|turn| add_turn(&log, turn));
    let store = open(directory.path()).await.unwrap();
    (directory, store, log)
}

#[tokio::test]
async fn remove_old_turns_removes_everything_of_a_turn_but_audit_memories_and_costs() {
    let (_directory, store, log) = opened(1..121).await;
    assert_eq!(remove(&store, OldRows::Turns, 101).await, 100);
    for table in ["turns", "steps"] {
        assert_eq!(count(&log, table), 40, "{table}");
    }
    for table in ["inbound", "calls", "kept_results", "waits", "outbox"] {
        assert_eq!(count(&log, table), 20, "{table}");
    }
    for table in ["audit", "memories", "usage"] {
        assert_eq!(count(&log, table), 120, "{table}");
    }
    assert_eq!(count(&log, "memories WHERE turn IS NULL AND message IS NULL"), 100);
    assert_eq!(count(&log, "usage WHERE turn IS NULL AND child IS NULL"), 100);
    assert_eq!(count(&log, "pragma_foreign_key_check"), 0);
    assert_eq!(remove(&store, OldRows::Turns, 101).await, 0, "a second pass");
}

#[tokio::test]
async fn remove_old_turns_keeps_what_open_work_refers_to() {
    let table = [
        ("a pending delivery", "UPDATE outbox SET state = 'pending' WHERE turn = 5", 9),
        ("an unknown delivery", "UPDATE outbox SET state = 'unknown' WHERE turn = 5", 9),
        ("an open question", "UPDATE waits SET resolved = 0 WHERE turn = 5", 9),
        (
            "an open sub-agent",
            "UPDATE turns SET state = 'waiting', ended_at = NULL WHERE id = 1005",
            9,
        ),
        (
            "a lost delivery that no turn has reported",
            "INSERT INTO undelivered (session, said_by, delivery, chat, what, why, unconfirmed) \
                 VALUES ('terminal:local:s', 5, 5, 'c', 'w', 'y', 0)",
            9,
        ),
        (
            "an open turn of the session",
            "UPDATE turns SET state = 'waiting', ended_at = NULL WHERE id = 10",
            0,
        ),
        (
            "a queued message of the session",
            "UPDATE inbound SET state = 'queued', outcome = NULL, turn = NULL WHERE id = 10",
            0,
        ),
        (
            "a pending /compact",
            "UPDATE sessions SET compact_for = 1 WHERE id = 'terminal:local:s'",
            0,
        ),
        ("nothing open", "SELECT 1", 10),
    ];
    for (name, change, removed) in table {
        let (_directory, store, log) = opened(1..11).await;
        log.execute_batch(change).unwrap();
        assert_eq!(remove(&store, OldRows::Turns, 100).await, removed, "{name}");
        store.close().await;
    }
}

#[tokio::test]
async fn remove_old_results_keeps_calls_and_small_results() {
    let (_directory, store, log) = opened(1..11).await;
    log.execute("UPDATE calls SET result = '\"small\"' WHERE turn = 3", ()).unwrap();
    assert_eq!(remove(&store, OldRows::Results, 6).await, 4);
    assert_eq!(count(&log, "calls WHERE result LIKE '%removed%'"), 4);
    assert_eq!((count(&log, "calls"), count(&log, "kept_results")), (10, 5));
    assert_eq!(count(&log, "steps WHERE reasoning IS NULL AND turn <= 5"), 5);
    assert_eq!(remove(&store, OldRows::Results, 6).await, 0, "a second pass");
}

#[tokio::test]
async fn remove_old_messages_and_deliveries_are_those_without_a_turn() {
    let (_directory, store, log) = opened(1..11).await;
    log.execute_batch(
        "UPDATE inbound SET turn = NULL WHERE id IN (2, 3, 8);
         UPDATE inbound SET state = 'queued', outcome = NULL WHERE id = 3;
         UPDATE outbox SET turn = NULL WHERE turn IN (2, 3, 4, 8);
         UPDATE outbox SET state = 'pending' WHERE chunk = 0 AND created_at = 3;
         UPDATE outbox SET state = 'dead' WHERE created_at = 4;",
    )
    .unwrap();
    assert_eq!(remove(&store, OldRows::Messages, 6).await, 1);
    assert_eq!(remove(&store, OldRows::Deliveries, 6).await, 2);
    assert_eq!(count(&log, "inbound WHERE id IN (3, 8)"), 2);
    assert_eq!(count(&log, "outbox WHERE turn IS NULL"), 2);
}

#[tokio::test]
async fn remove_old_in_batches_continues_after_a_stop_between_them() {
    let (directory, store, log) = opened(1..121).await;
    let RemovedBatch { removed, next } =
        store.remove_old(OldRows::Turns, 0, Timestamp(1000)).await.unwrap();
    assert!(removed > 0 && removed < 120 && next.is_some(), "{removed} {next:?}");
    drop(store);
    let store = open(directory.path()).await.unwrap();
    assert_eq!(remove(&store, OldRows::Turns, 1000).await, 120 - removed);
    assert_eq!((count(&log, "turns"), count(&log, "pragma_foreign_key_check")), (0, 0));
}

#[tokio::test]
async fn excess_before_is_the_time_up_to_which_content_does_not_fit() {
    let (_directory, store, _log) = opened(1..11).await;
    let table = [
        (ContentKind::Results, 1_000_000, None),
        (ContentKind::Results, 3_500, Some(Timestamp(8))),
        (ContentKind::Results, 0, Some(Timestamp(10))),
        (ContentKind::Messages, 1_000_000, None),
        (ContentKind::Messages, 0, Some(Timestamp(10))),
    ];
    for (kind, bytes, expected) in table {
        let found = store.excess_before(kind, bytes).await.unwrap();
        assert_eq!(found, expected, "{kind:?} {bytes}");
    }
}

#[tokio::test]
async fn vacuum_makes_the_file_smaller_and_later_removals_shrink_it() {
    let (directory, store, log) = opened(1..201).await;
    remove(&store, OldRows::Turns, 101).await;
    assert!(store.measure_size().await.unwrap().free > 0);
    assert_eq!(store.shrink_file(100).await, Ok(0), "before the first vacuum");
    store.close().await;
    // As versions before schema 10 made it.
    let old = directory.path().join("old.db");
    log.pragma_update(None, "page_size", 4096).unwrap();
    log.execute("VACUUM INTO ?1", [old.to_str().unwrap()]).unwrap();
    drop(log);
    std::fs::rename(&old, directory.path().join(DATABASE)).unwrap();

    let clock = ManualClock::default();
    let lock =
        DirectoryLock::take_lock(directory.path(), LogHolder::Command, &clock).await.unwrap();
    let (before, after) = vacuum_log(&lock, directory.path()).unwrap();
    assert!(after < before, "{before} {after}");
    drop(lock);

    let store = open(directory.path()).await.unwrap();
    let size = store.measure_size().await.unwrap();
    assert_eq!((size.free, size.shrinks, size.messages.rows), (0, true, 100));
    remove(&store, OldRows::Turns, 1000).await;
    let free = store.measure_size().await.unwrap().free / PAGE as u64;
    assert_eq!(store.shrink_file(2).await, Ok(free - 2));
    while store.shrink_file(100).await.unwrap() > 0 {}
    store.close().await;
    open(directory.path()).await.unwrap();
}
