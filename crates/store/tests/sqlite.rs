//! Tests of features that only the SQLite backend has: lock, file, versions, damage.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "sqlite/cached_past.rs"]
mod cached_past;
#[path = "sqlite/checking.rs"]
mod checking;
#[path = "sqlite/deleting.rs"]
mod deleting;
#[path = "sqlite/mutations.rs"]
mod mutations;
#[path = "sqlite/pieces.rs"]
mod pieces;
#[path = "sqlite/recorded.rs"]
mod recorded;
#[path = "sqlite/restoring.rs"]
mod restoring;
#[path = "sqlite/retaining.rs"]
mod retaining;
#[path = "sqlite/rich.rs"]
mod rich;
#[path = "sqlite/search_words.rs"]
mod search_words;
#[path = "sqlite/support.rs"]
mod support;
#[path = "sqlite/using.rs"]
mod using;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Content, InboundKind, NewInbound, Planned, SessionId};
use avocet_protocol::store::{
    Claim, CommandAction, CommandEffect, CommandReply, Inbox, Outbox, Query, SendEnd, StoreError,
    Suspects, Turns,
};
use avocet_store::{DATABASE, LogHolder, OpenError, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use rusqlite::Connection;
use tempfile::TempDir;

use support::{PAGE, accept, message, messages, open, open_with, options};

#[tokio::test]
async fn open_refuses_a_second_daemon_and_names_the_holder_of_the_lock() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    // The clock stands still, because a refused daemon must not wait.
    let clock = Arc::new(ManualClock::default());
    let group = Group::new("test");
    let (refused, ()) =
        tokio::join!(SqliteStore::open(options(directory.path()), clock.clone(), &group), async {
            clock.sleeper(Duration::from_millis(1)).await;
            clock.advance(Duration::from_secs(1));
        });
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!(
            "{} is in use by process {} (daemon); stop it first, or use another data_dir",
            directory.path().display(),
            std::process::id(),
        ),
    );
    store.close().await;
    open(directory.path()).await.unwrap();
}

#[tokio::test]
async fn open_of_a_daemon_waits_for_a_command_to_release_the_lock() {
    let directory = TempDir::new().unwrap();
    let command = OpenOptions { holder: LogHolder::Command, ..options(directory.path()) };
    let held = open_with(command).await.unwrap();
    let clock = Arc::new(ManualClock::default());
    let group = Group::new("test");
    let (daemon, ()) =
        tokio::join!(SqliteStore::open(options(directory.path()), clock.clone(), &group), async {
            clock.sleeper(Duration::from_millis(1)).await;
            held.close().await;
            clock.advance(Duration::from_secs(1));
        });
    daemon.unwrap();
}

#[tokio::test]
async fn open_of_a_command_keeps_the_epoch_and_recovers_nothing() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    assert_eq!(store.epoch(), 1);
    accept(&store, "1").await.unwrap();
    let session = message("1").session;
    store.claim(&session, Suspects::Exclude, Duration::ZERO).await.unwrap();
    store.close().await;

    let command = OpenOptions { holder: LogHolder::Command, ..options(directory.path()) };
    let store = open_with(command).await.unwrap();
    accept(&store, "2").await.unwrap();
    let status = store.log_status().await.unwrap();
    assert_eq!((status.epoch, status.messages, status.running), (1, 2, 1));
    store.close().await;

    let store = open(directory.path()).await.unwrap();
    let status = store.log_status().await.unwrap();
    assert_eq!((status.epoch, status.messages, status.running), (2, 2, 0));
}

#[tokio::test]
async fn open_read_only_needs_no_lock_and_cannot_write() {
    let directory = TempDir::new().unwrap();
    let missing = SqliteStore::open_read_only(directory.path(), &Group::new("test"));
    assert!(matches!(missing, Ok(None)));
    let store = open(directory.path()).await.unwrap();
    accept(&store, "1").await.unwrap();
    let looking =
        SqliteStore::open_read_only(directory.path(), &Group::new("test")).unwrap().unwrap();
    assert_eq!(messages(&looking).await, 1);
    assert_eq!(accept(&looking, "2").await, Err(StoreError::Closed));
}

#[tokio::test]
async fn write_of_a_daemon_with_an_old_epoch_is_fenced() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    accept(&store, "1").await.unwrap();
    let other = Connection::open(directory.path().join(DATABASE)).unwrap();
    other.execute("UPDATE meta SET epoch = epoch + 1", ()).unwrap();
    let fenced = StoreError::Fenced { ours: 1, theirs: 2 };
    assert_eq!(accept(&store, "2").await, Err(fenced.clone()));
    assert_eq!(
        store.claim(&message("1").session, Suspects::Exclude, Duration::ZERO).await,
        Err(fenced.clone())
    );
    assert_eq!(store.wait_until_lost().await, fenced);
    assert_eq!(messages(&store).await, 1);
}

/// The health check includes the lock: without its file, a second daemon could start.
#[tokio::test]
async fn ping_reports_a_file_that_was_deleted_or_replaced() {
    for file in [DATABASE, "avocet.lock"] {
        for replaced in [false, true] {
            let directory = TempDir::new().unwrap();
            let store = open(directory.path()).await.unwrap();
            store.ping_writer().await.unwrap();
            let path = directory.path().join(file);
            let content = fs::read(&path).unwrap();
            fs::rename(&path, directory.path().join("away")).unwrap();
            if replaced {
                fs::write(&path, content).unwrap();
            }
            let lost = store.ping_writer().await.unwrap_err();
            let found = if replaced { "another file is there" } else { "no file is there" };
            let path = path.display().to_string();
            assert_eq!(lost, StoreError::Replaced { path, found: found.to_owned() });
            if file == DATABASE {
                assert_eq!(store.wait_until_lost().await, lost);
                assert_eq!(accept(&store, "1").await, Err(lost));
            }
        }
    }
}

fn schema_version(path: &Path) -> i64 {
    let database = Connection::open(path).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn open_refuses_a_database_of_a_newer_version_and_leaves_it_unchanged() {
    let directory = TempDir::new().unwrap();
    open(directory.path()).await.unwrap().close().await;
    let path = directory.path().join(DATABASE);
    let known = schema_version(&path);
    let newer = known + 1;
    Connection::open(&path).unwrap().pragma_update(None, "user_version", newer).unwrap();
    let before = fs::read(&path).unwrap();
    let path_text = path.display();
    assert_eq!(
        open(directory.path()).await.unwrap_err().to_string(),
        format!(
            "{path_text} was written by a newer version (schema {newer}, this one knows {known}); install that \
             version, or put back the copy {path_text}.before-v{newer} if there is one, and remove \
             {path_text}-wal and {path_text}-shm, which do not belong to it"
        ),
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn open_read_only_refuses_a_database_of_an_older_version() {
    let directory = TempDir::new().unwrap();
    open(directory.path()).await.unwrap().close().await;
    let path = directory.path().join(DATABASE);
    let known = schema_version(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    let looked = SqliteStore::open_read_only(directory.path(), &Group::new("test"));
    assert_eq!(
        looked.unwrap_err().to_string(),
        format!(
            "{} was written by an older version (schema 3, this one reads {known}); start the daemon once, \
             or again if it still runs, which brings the log up to date",
            path.display()
        ),
    );
}

/// Opens a database after closing and damaging it.
async fn damaged(directory: &Path, damage: fn(&Path)) -> Result<SqliteStore, OpenError> {
    let store = open(directory).await.unwrap();
    accept(&store, "precious").await.unwrap();
    store.close().await;
    damage(&directory.join(DATABASE));
    open(directory).await
}

#[tokio::test]
async fn open_moves_a_damaged_database_aside_and_refuses_to_start_empty() {
    type Damage = (&'static str, fn(&Path));
    let table: [Damage; 5] = [
        ("emptied", |path| fs::write(path, b"").unwrap()),
        ("overwritten", |path| fs::write(path, b"not a database at all, not at all").unwrap()),
        ("cut", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("scrambled", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[PAGE..20 * PAGE].fill(0x55);
            fs::write(path, bytes).unwrap();
        }),
        ("an index of words without its version", |path| {
            let log = Connection::open(path).unwrap();
            log.execute("DELETE FROM memories_index_config", ()).unwrap();
        }),
    ];
    for (name, damage) in table {
        let directory = TempDir::new().unwrap();
        let refused = damaged(directory.path(), damage).await.unwrap_err();
        let OpenError::Damaged { moved, .. } = &refused else { panic!("{name}: {refused}") };
        assert!(moved.exists() && !directory.path().join(DATABASE).exists(), "{name}");
        assert!(refused.to_string().contains("--start-empty"), "{name}: {refused}");

        let refused = open(directory.path()).await.unwrap_err();
        assert!(matches!(&refused, OpenError::Undecided { .. }), "{name}: {refused}");
        assert!(refused.to_string().contains(&moved.display().to_string()), "{name}: {refused}");
        let options = OpenOptions { start_empty: true, ..options(directory.path()) };
        let store = open_with(options).await.unwrap();
        assert_eq!(messages(&store).await, 0);
        store.close().await;
        open(directory.path()).await.unwrap();
        assert!(moved.exists(), "{name}: the damaged one is kept");
    }
}

#[tokio::test]
async fn open_moves_the_wal_aside_with_a_damaged_database() {
    let directory = TempDir::new().unwrap();
    open(directory.path()).await.unwrap().close().await;
    let path = directory.path().join(DATABASE);
    fs::write(&path, b"damaged").unwrap();
    for suffix in ["-wal", "-shm"] {
        fs::write(directory.path().join(format!("{DATABASE}{suffix}")), suffix).unwrap();
    }
    let refused = open(directory.path()).await.unwrap_err();
    let OpenError::Damaged { moved, .. } = refused else { panic!("{refused}") };
    assert_eq!(fs::read(&moved).unwrap(), b"damaged");
    assert_eq!(fs::read(format!("{}-wal", moved.display())).unwrap(), b"-wal");
    assert!(!directory.path().join(format!("{DATABASE}-wal")).exists());
}

#[tokio::test]
async fn open_error_names_a_path_that_is_not_a_directory() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused = open(&file).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "{} cannot be used (not a directory); check the path, its owner and its permissions",
            file.display()
        ),
    );
}

#[tokio::test]
async fn close_makes_later_calls_fail_with_closed() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    let other = store.clone();
    store.close().await;
    assert_eq!(accept(&other, "1").await, Err(StoreError::Closed));
    assert_eq!(other.ping_writer().await, Err(StoreError::Closed));
}

#[tokio::test]
async fn accept_commits_many_concurrent_writes() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(open(directory.path()).await.unwrap());
    let texts: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    let writes = texts.iter().map(|text| accept(&store, text));
    let done = futures_util::future::join_all(writes).await;
    assert!(done.iter().all(Result::is_ok));
    assert_eq!(messages(&store).await, 500);
}

#[tokio::test]
async fn open_refuses_a_wal_without_its_database() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    accept(&store, "old").await.unwrap();
    let path = directory.path().join(DATABASE);
    let wal = fs::read(directory.path().join("avocet.db-wal")).unwrap();
    store.close().await;
    fs::remove_file(&path).unwrap();
    fs::write(directory.path().join("avocet.db-wal"), wal).unwrap();
    let refused = open(directory.path()).await.unwrap_err().to_string();
    assert!(refused.contains("it is gone, but not its -wal"), "{refused}");
}

#[tokio::test]
async fn resend_repeats_abandoned_messages_of_the_last_week() {
    const DAY: Duration = Duration::from_hours(24);
    let directory = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::default());
    let (options, group) = (options(directory.path()), Group::new("test"));
    let store = SqliteStore::open(options, clock.clone(), &group).await.unwrap();
    for (text, later) in [("old", 2 * DAY), ("new", 6 * DAY)] {
        let address = message(text).session.address();
        let planned = Planned { address, chunks: vec![Content::text(text)] };
        let enqueued = store.enqueue(&planned, &text.parse().unwrap(), None).await.unwrap();
        store.start(enqueued.id, false).await.unwrap();
        let dead = SendEnd::Dead { error: "no".to_owned(), notice: None };
        store.finish(enqueued.id, &dead).await.unwrap();
        clock.advance(later);
    }
    let command = NewInbound { kind: InboundKind::Command, ..message("again") };
    let command = store.accept(&command, None).await.unwrap().id;
    let (action, reply) = (CommandAction::Resend, CommandReply::default());
    let effect = store.settle_command(command, &action, &reply).await.unwrap();
    assert_eq!(effect, CommandEffect::Resent(1));
    let head = store.head(&message("new").session.address()).await.unwrap().unwrap();
    assert_eq!(head.delivery.content.text, "new");
}

#[tokio::test]
async fn claim_in_collect_mode_takes_an_endless_burst_after_ten_pauses() {
    let directory = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::default());
    let collecting = OpenOptions { default_mode: QueueMode::Collect, ..options(directory.path()) };
    let store = SqliteStore::open(collecting, clock.clone(), &Group::new("test")).await.unwrap();
    let (pause, session) = (Duration::from_millis(500), message("0").session);
    let mut said = 0;
    loop {
        accept(&store, &said.to_string()).await.unwrap();
        said += 1;
        match store.claim(&session, Suspects::Exclude, pause).await.unwrap() {
            Claim::Later(_) => clock.advance(pause - Duration::from_millis(100)),
            Claim::Turn(claimed) => {
                assert_eq!(claimed.turn.origin.messages().len(), said);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(said, 14, "one every 400 ms, for 5 s");
}

/// Returns the nonce of the first chunk of a new chat.
async fn nonce_of_first(directory: &Path, chat: &str) -> String {
    let store = open(directory).await.unwrap();
    let address = SessionId::parse(&format!("terminal:local:{chat}")).unwrap().address();
    let planned = Planned { address: address.clone(), chunks: vec![Content::text("hello")] };
    store.enqueue(&planned, &"hello".parse().unwrap(), None).await.unwrap();
    let nonce = store.head(&address).await.unwrap().unwrap().delivery.nonce;
    store.close().await;
    nonce
}

/// A platform remembers nonces for minutes, whichever database is behind the bot.
#[tokio::test]
async fn enqueue_repeats_no_nonce_after_a_wipe_or_in_a_restored_copy() {
    let [directory, copy, wiped] = [(); 3].map(|()| TempDir::new().unwrap());
    let kept = nonce_of_first(directory.path(), "a").await;
    fs::copy(directory.path().join(DATABASE), copy.path().join(DATABASE)).unwrap();
    // Both go on with the same epoch and the same row numbers.
    let mut nonces = vec![
        nonce_of_first(wiped.path(), "a").await,
        nonce_of_first(directory.path(), "b").await,
        nonce_of_first(copy.path(), "b").await,
        kept.clone(),
    ];
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 4, "{nonces:?}");
    let store = open(copy.path()).await.unwrap();
    let address = SessionId::parse("terminal:local:a").unwrap().address();
    assert_eq!(store.head(&address).await.unwrap().unwrap().delivery.nonce, kept);
    store.close().await;
}
