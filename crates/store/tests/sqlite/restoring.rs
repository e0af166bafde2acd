//! Tests of `avocet backup`, `avocet restore` and `avocet recover` through the store's API.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;

use avocet_protocol::chat::Outcome;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{AcceptedAs, EventFilter, EventKind, EventLog, Inbox, Outbox, Query};
use avocet_store::{
    CancelCopy, CopyError, DATABASE, DirectoryLock, LogHolder, LogReplacement, OpenError, back_up,
    recover_into,
};
use avocet_testkit::{ManualClock, START, SystemPart, skip_without};
use avocet_text::Redactor;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::rich::{add_open, add_turns, assert_nothing_open, fill, rows};
use crate::support::{PAGE, accept, message, messages, open};

const NOW: Timestamp = Timestamp(1_767_300_000_000);

fn copy(directory: &Path, to: &Path) -> Result<u64, CopyError> {
    back_up(directory, to, NOW, &CancelCopy::default()).map(|copied| copied.messages)
}

/// Runs a function that replaces the log of a stopped daemon.
pub(crate) async fn replacing<T>(
    directory: &Path,
    work: impl FnOnce(&LogReplacement<'_>) -> T,
) -> T {
    let clock = ManualClock::default();
    let lock = DirectoryLock::take_lock(directory, LogHolder::Command, &clock).await.unwrap();
    let redactor = Arc::<Redactor>::default();
    let audit_head = Some(2_000);
    work(&LogReplacement { directory, lock: &lock, audit_head, redactor: &redactor, now: NOW })
}

fn connect(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

fn number(log: &Connection, sql: &str) -> i64 {
    log.query_row(sql, (), |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn back_up_copies_everything_while_the_daemon_writes() {
    let directory = TempDir::new().unwrap();
    fill(directory.path(), 1..300).await;
    let store = open(directory.path()).await.unwrap();
    accept(&store, "only in the -wal").await.unwrap();
    let expected = rows(&connect(&directory.path().join(DATABASE)));
    let to = directory.path().join("copy.db");
    let writes = async {
        for text in 0..50 {
            accept(&store, &text.to_string()).await.unwrap();
        }
    };
    let (source, target) = (directory.path().to_owned(), to.clone());
    let copying = avocet_supervise::run_blocking(move || copy(&source, &target));
    let (copied, ()) = tokio::join!(copying, writes);
    let copied = copied.unwrap().unwrap();
    let found = rows(&connect(&to));
    for (table, rows) in &expected {
        assert!(rows.is_subset(&found[table]), "{table}");
    }
    assert!((300..=350).contains(&copied), "{copied}");
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    let beside = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> =
        beside.filter(|name| name.to_str().unwrap().starts_with("copy.db")).collect();
    assert_eq!(left, ["copy.db"], "nothing is left beside the copy");
}

#[tokio::test]
async fn back_up_refuses_a_missing_log_an_existing_target_and_damage() {
    let directory = TempDir::new().unwrap();
    let to = directory.path().join("copy.db");
    assert!(matches!(copy(directory.path(), &to), Err(CopyError::NoLog(_))));
    fill(directory.path(), 1..30).await;
    fs::write(&to, "precious").unwrap();
    assert!(matches!(copy(directory.path(), &to), Err(CopyError::Exists(_))));
    assert_eq!(fs::read(&to).unwrap(), b"precious");
    let nowhere = directory.path().join("nowhere/copy.db");
    let refused = copy(directory.path(), &nowhere).unwrap_err().to_string();
    assert!(refused.contains("nowhere") && refused.contains("No such file"), "{refused}");

    let cancel = CancelCopy::default();
    cancel.cancel_copy();
    let to = directory.path().join("other.db");
    let cancelled = back_up(directory.path(), &to, NOW, &cancel);
    assert!(matches!(cancelled, Err(CopyError::Cancelled)), "{cancelled:?}");

    let database = directory.path().join(DATABASE);
    let mut bytes = fs::read(&database).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0x55);
    fs::write(&database, bytes).unwrap();
    let damaged = copy(directory.path(), &to).unwrap_err();
    assert!(matches!(damaged, CopyError::Open(_) | CopyError::NotWhole { .. }), "{damaged}");
    let left: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("other"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// A program with its own position, beyond those of the copy, misses no event after it.
#[tokio::test]
async fn restore_moves_the_numbers_of_events_ahead() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    accept(&store, "in the copy").await.unwrap();
    let file = directory.path().join("copy.db");
    copy(directory.path(), &file).unwrap();
    accept(&store, "lost").await.unwrap();
    let lost = store.event_range().await.unwrap();
    store.close().await;
    replacing(directory.path(), |replace| replace.restore_copy(&file).unwrap()).await;
    let store = open(directory.path()).await.unwrap();
    let range = store.event_range().await.unwrap();
    assert!(range.log != lost.log && range.newest > lost.newest, "{range:?} {lost:?}");
    let page = store.events(lost.newest, &EventFilter::default(), 500).await.unwrap();
    assert_eq!(page.events[0].kind, EventKind::LogRolledBack);
    assert!(page.events.iter().all(|event| event.at.0 > 0), "{page:?}");
    store.close().await;
}

#[tokio::test]
async fn restore_repeats_nothing_and_keeps_the_previous_log() {
    let directory = TempDir::new().unwrap();
    fill(directory.path(), 1..60).await;
    let database = directory.path().join(DATABASE);
    add_open(&connect(&database));
    let file = directory.path().join("copy.db");
    copy(directory.path(), &file).unwrap();
    let kept = rows(&connect(&file));
    let store = open(directory.path()).await.unwrap();
    accept(&store, "after the copy").await.unwrap();
    let epoch = store.epoch();
    let before = number(&connect(&database), "SELECT max(id) FROM inbound");
    store.close().await;
    let there = fs::read(&database).unwrap();
    let id = |path: &Path| -> String {
        connect(path).query_row("SELECT id FROM meta", (), |row| row.get(0)).unwrap()
    };
    let old = id(&file);

    let restored =
        replacing(directory.path(), |replace| replace.restore_copy(&file)).await.unwrap();
    assert_eq!(restored.copied_at, Some(NOW));
    let ended = restored.ended;
    assert_eq!((ended.turns, ended.messages, ended.deliveries, ended.chats), (3, 3, 3, 5));
    assert_eq!(fs::read(restored.moved.unwrap()).unwrap(), there, "the log that was there is kept");
    assert!(file.exists() && id(&database) != old);
    let log = connect(&database);
    assert_nothing_open(&log);
    let found = rows(&log);
    for (table, rows) in kept {
        assert!(rows.is_subset(&found[table]), "{table}");
    }
    // Numbers of the lost part stay unused; the audit table shows the gap.
    assert!(number(&log, "SELECT number FROM last_numbers WHERE name = 'inbound'") > before);
    assert_eq!(number(&log, "SELECT min(sequence) FROM audit WHERE sequence > 60"), 2_001);
    drop(log);

    let store = open(directory.path()).await.unwrap();
    assert_eq!(store.epoch(), epoch + 2, "the epoch goes on from the one that was lost");
    let status = store.log_status().await.unwrap();
    assert_eq!((status.queued, status.running, status.waiting, status.pending), (0, 0, 0, 5));
    let why = status.rolled_back.unwrap().why;
    assert!(why.contains("copy.db, a copy of 2026-01-01 20:40:00 UTC"), "{why}");
    store.close().await;
}

#[tokio::test]
async fn restore_by_root_gives_the_log_to_the_owner_of_the_data_directory() {
    if !rustix::process::geteuid().is_root() {
        return skip_without(SystemPart::Root);
    }
    let (directory, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fill(directory.path(), 1..3).await;
    let file = copies.path().join("copy.db");
    copy(directory.path(), &file).unwrap();
    chown(directory.path(), Some(65534), Some(65534)).unwrap();
    replacing(directory.path(), |replace| replace.restore_copy(&file)).await.unwrap();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().uid(), 65534, "{}", entry.path().display());
    }
    assert_eq!(fs::metadata(&file).unwrap().uid(), 0, "the copy stays as it is");
}

#[tokio::test]
async fn restore_refuses_a_file_that_is_not_a_whole_log() {
    let directory = TempDir::new().unwrap();
    fill(directory.path(), 1..60).await;
    let database = directory.path().join(DATABASE);
    let there = fs::read(&database).unwrap();
    let file = directory.path().join("file.db");
    let table: [(&str, Vec<u8>, &str); 5] = [
        ("empty", Vec::new(), "it has no SQLite header"),
        ("another file", b"PK\x03\x04, and so on".repeat(20), "it has no SQLite header"),
        ("half", there[..there.len() / 2].to_vec(), ""),
        ("scrambled", [&there[..8192], &vec![7; 40_000], &there[48_192..]].concat(), ""),
        ("newer", [&there[..60], &99_u32.to_be_bytes(), &there[64..]].concat(), "schema 99"),
    ];
    for (name, bytes, says) in table {
        fs::write(&file, bytes).unwrap();
        let refused =
            replacing(directory.path(), |replace| replace.restore_copy(&file)).await.unwrap_err();
        assert!(refused.to_string().contains(says), "{name}: {refused}");
        assert_eq!(fs::read(&database).unwrap(), there, "{name}");
    }
    let missing = directory.path().join("nothing.db");
    for (from, says) in [(&missing, "there is no such file"), (&database, "it is the log in use")] {
        let refused =
            replacing(directory.path(), |replace| replace.restore_copy(from)).await.unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
    }
    open(directory.path()).await.unwrap();
}

#[tokio::test]
async fn restore_migrates_a_copy_of_an_older_version() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("old.db");
    let old = connect(&file);
    old.execute_batch(include_str!("../../src/migrations/schema_v1.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x41564F43; PRAGMA user_version = 1;
         INSERT INTO sessions (id, used_at) VALUES ('terminal:local:a', 1);
         INSERT INTO notes (text, written_at) VALUES ('kept', 1);",
    )
    .unwrap();
    drop(old);
    let restored =
        replacing(directory.path(), |replace| replace.restore_copy(&file)).await.unwrap();
    assert_eq!((restored.moved, restored.copied_at), (None, None));
    let store = open(directory.path()).await.unwrap();
    assert_eq!(store.log_status().await.unwrap().sessions, 1);
}

/// A start moves a damaged log aside, and `recover_damaged` then restores it.
#[tokio::test]
async fn recover_saves_the_readable_rows_of_a_damaged_log() {
    let directory = TempDir::new().unwrap();
    fill(directory.path(), 1..400).await;
    let database = directory.path().join(DATABASE);
    add_open(&connect(&database));
    let log = connect(&database);
    let before = rows(&log);
    let root = |table: &str| {
        let root = format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'");
        number(&log, &root) as usize
    };
    let mut bytes = fs::read(&database).unwrap();
    let pages = bytes.len() / PAGE;
    // SQLite finds no row of a table without its root page.
    for page in [root("inbound"), root("outbox"), root("steps"), pages / 3] {
        bytes[(page - 1) * PAGE..page * PAGE].fill(0);
    }
    drop(log);
    fs::write(&database, &bytes).unwrap();
    let refused = open(directory.path()).await.unwrap_err();
    let OpenError::Damaged { moved, .. } = &refused else { panic!("{refused}") };
    assert!(refused.to_string().contains("avocet recover"), "{refused}");

    let recovered =
        replacing(directory.path(), |replace| replace.recover_damaged(None)).await.unwrap();
    assert_eq!(&recovered.from, moved);
    assert_eq!(fs::read(moved).unwrap(), bytes, "the damaged log is unchanged");
    let log = connect(&database);
    assert_nothing_open(&log);
    let after = rows(&log);
    let share = |table: &str| {
        let kept = before[table].intersection(&after[table]).count();
        (kept as f64 / before[table].len() as f64, after[table].difference(&before[table]).count())
    };
    for table in [
        "inbound",
        "turns",
        "steps",
        "calls",
        "outbox",
        "usage",
        "memories",
        "audit",
        "undelivered",
        "reports",
    ] {
        let (kept, _) = share(table);
        assert!(kept > 0.8, "{table}: {kept}: {:?}", recovered.saved);
    }
    drop(log);
    let store = open(directory.path()).await.unwrap();
    assert!(messages(&store).await > 300);
}

#[tokio::test]
async fn recover_into_a_file_leaves_the_damaged_log_unchanged() {
    let directory = TempDir::new().unwrap();
    fill(directory.path(), 1..40).await;
    let store = open(directory.path()).await.unwrap();
    let side = connect(&directory.path().join(DATABASE));
    add_turns(&side, 40..60);
    let expected = rows(&side);
    let damaged = TempDir::new().unwrap();
    for piece in ["avocet.db", "avocet.db-wal"] {
        fs::copy(directory.path().join(piece), damaged.path().join(piece)).unwrap();
    }
    drop((side, store));
    let (from, into) = (damaged.path().join(DATABASE), damaged.path().join("recovered.db"));
    // Without the first page, the names of the tables are lost.
    let mut bytes = fs::read(&from).unwrap();
    bytes[..PAGE].fill(0);
    fs::write(&from, &bytes).unwrap();
    let recovered = recover_into(&from, &into, &Redactor::default(), NOW).unwrap();
    let found = rows(&connect(&into));
    for table in ["inbound", "turns", "steps", "calls", "outbox", "usage", "memories"] {
        let kept = expected[table].intersection(&found[table]).count();
        assert_eq!(kept, expected[table].len(), "{table}: {recovered:#?}");
    }
    assert_eq!(fs::read(&from).unwrap(), bytes);
    let again = recover_into(&from, &into, &Redactor::default(), NOW);
    assert!(matches!(again, Err(CopyError::Exists(_))));
    fs::write(&from, "nothing that could be read").unwrap();
    fs::remove_file(damaged.path().join("avocet.db-wal")).unwrap();
    let nothing = recover_into(&from, &damaged.path().join("x.db"), &Redactor::default(), NOW);
    let nothing = nothing.unwrap_err().to_string();
    assert!(nothing.contains("none of its rows"), "{nothing}");
}

/// After a restore, platforms redeliver messages that the lost part may have answered.
#[tokio::test]
async fn accept_after_restore_drops_messages_of_the_lost_part_and_notifies_once() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    let file = directory.path().join("copy.db");
    copy(directory.path(), &file).unwrap();
    accept(&store, "lost").await.unwrap();
    store.close().await;
    replacing(directory.path(), |replace| replace.restore_copy(&file)).await.unwrap();
    let store = open(directory.path()).await.unwrap();
    // The last transaction of the lost part was made at the start of the manual clock.
    let at = |text: &str, after: i64| {
        let mut message = message(text);
        message.inbound.written_at = Some(Timestamp(START.0 + after));
        message
    };
    let table = [
        ("lost", -60_000, AcceptedAs::Unsure),
        ("lost too", 30_000, AcceptedAs::Unsure),
        ("lost", -60_000, AcceptedAs::Duplicate),
        ("later", 90_000, AcceptedAs::Queued),
    ];
    for (text, after, expected) in table {
        let accepted = store.accept(&at(text, after), None).await.unwrap();
        assert_eq!(accepted.what, expected, "{text}");
        if expected == AcceptedAs::Unsure {
            let status = store.message(accepted.id).await.unwrap().unwrap();
            assert_eq!(status.outcome, Some(Outcome::Dropped));
        }
    }
    let status = store.log_status().await.unwrap();
    assert_eq!((status.queued, status.pending), (1, 1), "{status:?}");
    let head = store.head(&message("x").session.address()).await.unwrap().unwrap();
    assert_eq!(
        head.delivery.content.text,
        "A part of my log is lost, so I do not know whether I answered your messages before \
            2026-01-01 00:01:00 UTC. Please send again what still matters."
    );
}
