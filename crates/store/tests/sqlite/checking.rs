//! Tests of the check of a large log, which runs beside the work of a daemon.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use avocet_protocol::daemon::LogCheck;
use avocet_protocol::store::StoreError;
use avocet_store::{DATABASE, OpenError, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{PAGE, accept, messages, open};

/// Makes a log that is too large for a check before the start.
async fn large(directory: &Path) {
    open(directory).await.unwrap().close().await;
    change(directory, |log| {
        let rows = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 3000) \
            INSERT INTO ignored SELECT 'filler', 'a', n || hex(randomblob(300)), 1 FROM number";
        log.execute(rows, ()).unwrap();
    });
}

fn change(directory: &Path, change: impl FnOnce(&Connection)) {
    let log = Connection::open(directory.join(DATABASE)).unwrap();
    change(&log);
    log.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).unwrap();
}

fn crash(directory: &Path) {
    change(directory, |log| assert_eq!(log.execute("UPDATE meta SET in_use = 1", ()).unwrap(), 1));
}

/// Overwrites the header of a page in the middle of the filler.
fn damage(directory: &Path) {
    let file = fs::File::options().write(true).open(directory.join(DATABASE)).unwrap();
    let page = file.metadata().unwrap().len() / PAGE as u64 * 3 / 4;
    file.write_all_at(&[0x55; 64], page * PAGE as u64).unwrap();
}

async fn ended_check(store: &SqliteStore) -> LogCheck {
    loop {
        match store.current_check() {
            LogCheck::Running => tokio::task::yield_now().await,
            ended => return ended,
        }
    }
}

#[tokio::test]
async fn open_of_a_large_log_checks_it_only_after_a_crash() {
    let directory = TempDir::new().unwrap();
    large(directory.path()).await;
    let store = open(directory.path()).await.unwrap();
    assert_eq!(ended_check(&store).await, LogCheck::AtStart, "after an orderly stop");
    store.close().await;

    crash(directory.path());
    let store = open(directory.path()).await.unwrap();
    assert_eq!(ended_check(&store).await, LogCheck::Whole);
    accept(&store, "1").await.unwrap();
    store.close().await;

    let store = open(directory.path()).await.unwrap();
    assert_eq!((store.current_check(), messages(&store).await), (LogCheck::AtStart, 1));
}

#[tokio::test]
async fn open_of_a_large_damaged_log_stops_its_writes_and_the_next_start_moves_it_aside() {
    let directory = TempDir::new().unwrap();
    large(directory.path()).await;
    crash(directory.path());
    damage(directory.path());
    let store = open(directory.path()).await.unwrap();
    assert!(matches!(store.wait_until_lost().await, StoreError::Damaged { .. }));
    assert!(matches!(accept(&store, "1").await, Err(StoreError::Damaged { .. })));
    assert_eq!(ended_check(&store).await, LogCheck::Damaged);
    store.close().await;

    let refused = open(directory.path()).await.unwrap_err();
    let OpenError::Damaged { moved, .. } = &refused else { panic!("{refused}") };
    assert!(moved.exists() && !directory.path().join(DATABASE).exists());
}

#[tokio::test]
async fn open_after_a_check_that_did_not_end_checks_again() {
    let directory = TempDir::new().unwrap();
    large(directory.path()).await;
    crash(directory.path());
    // The check may end before the stop; the note of the state decides then.
    let store = open(directory.path()).await.unwrap();
    store.close().await;
    let note = fs::read_to_string(directory.path().join(format!("{DATABASE}-last"))).unwrap();
    let store = open(directory.path()).await.unwrap();
    let expected = if note.contains("unchecked") { LogCheck::Whole } else { LogCheck::AtStart };
    assert_eq!(ended_check(&store).await, expected);
}
