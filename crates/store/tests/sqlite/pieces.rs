//! Combinations of the log's files: the database, its `-wal` and its `-shm`, each current, absent,
//! empty, from an older copy, or from another log. A start must not panic, silently begin an empty
//! log, or apply a `-wal` to a database to which it does not belong.

use std::fs;
use std::path::Path;

use avocet_protocol::chat::{Content, Planned};
use avocet_protocol::store::{Outbox, Query};
use avocet_store::{DATABASE, OpenError, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{accept, message, messages, open, open_with, options};

const PIECES: [&str; 3] = ["", "-wal", "-shm"];

/// The origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileOrigin {
    Now,
    Absent,
    Empty,
    Older,
    Other,
}

const ALL: [FileOrigin; 5] =
    [FileOrigin::Now, FileOrigin::Absent, FileOrigin::Empty, FileOrigin::Older, FileOrigin::Other];

/// The bytes of the files of a log whose daemon was killed.
type Images = [Vec<u8>; 3];

fn images(directory: &Path) -> Images {
    PIECES.map(|piece| fs::read(directory.join(format!("{DATABASE}{piece}"))).unwrap())
}

/// Logs from which files are taken.
struct Logs {
    now: Images,
    last: Vec<u8>,
    older: Images,
    other: Images,
}

impl Logs {
    async fn new() -> Self {
        let [directory, other] = [(); 2].map(|()| TempDir::new().unwrap());
        let store = open(directory.path()).await.unwrap();
        for text in ["1", "2", "3"] {
            accept(&store, text).await.unwrap();
        }
        let older = images(directory.path());
        store.close().await;
        let store = open(directory.path()).await.unwrap();
        for text in ["4", "5", "6"] {
            accept(&store, text).await.unwrap();
        }
        let last = fs::read(directory.path().join("avocet.db-last")).unwrap();
        let another = open(other.path()).await.unwrap();
        for number in 0..9 {
            accept(&another, &number.to_string()).await.unwrap();
        }
        Self { now: images(directory.path()), last, older, other: images(other.path()) }
    }

    /// Makes a data directory from these files.
    fn lay_out(&self, pieces: [FileOrigin; 3]) -> TempDir {
        let directory = TempDir::new().unwrap();
        for (index, (piece, from)) in PIECES.iter().zip(pieces).enumerate() {
            let bytes = match from {
                FileOrigin::Absent => continue,
                FileOrigin::Empty => &Vec::new(),
                FileOrigin::Now => &self.now[index],
                FileOrigin::Older => &self.older[index],
                FileOrigin::Other => &self.other[index],
            };
            fs::write(directory.path().join(format!("{DATABASE}{piece}")), bytes).unwrap();
        }
        fs::write(directory.path().join("avocet.db-last"), &self.last).unwrap();
        directory
    }
}

/// The result of a start.
#[derive(Debug, PartialEq, Eq)]
enum Start {
    /// The log is complete, with this number of messages.
    Whole(u64),
    /// The log continues with this number of messages, and reports that others are lost.
    RolledBack(u64),
    /// The log is moved aside.
    Damaged,
    /// The log is missing, and a person has to decide.
    Undecided,
}

fn expected(database: FileOrigin, wal: FileOrigin) -> Start {
    use FileOrigin::{Absent, Empty, Now, Older, Other};
    match (database, wal) {
        (Absent, _) => Start::Undecided,
        (Empty, _) => Start::Damaged,
        (Now, Now) => Start::Whole(6),
        // The part checkpointed at the last start.
        (Now, Absent | Empty) => Start::RolledBack(3),
        (Older, Older) => Start::RolledBack(3),
        (Older, Absent | Empty) => Start::RolledBack(0),
        (Other, Other) => Start::RolledBack(9),
        (Other, Absent | Empty) => Start::RolledBack(0),
        (Now, Older | Other) | (Older, Now | Other) | (Other, Now | Older) => Start::Damaged,
    }
}

async fn start(directory: &Path) -> Start {
    match open(directory).await {
        Ok(store) => {
            let status = store.log_status().await.unwrap();
            store.close().await;
            match status.rolled_back {
                None => Start::Whole(status.messages),
                Some(_) => Start::RolledBack(status.messages),
            }
        }
        Err(OpenError::Damaged { .. }) => Start::Damaged,
        Err(OpenError::Undecided { .. }) => Start::Undecided,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the state that a read-only command reports.
async fn read(directory: &Path) -> Start {
    match SqliteStore::open_read_only(directory, &Group::new("test")) {
        Ok(Some(store)) => {
            let status = store.log_status().await.unwrap();
            match status.rolled_back {
                None => Start::Whole(status.messages),
                Some(_) => Start::RolledBack(status.messages),
            }
        }
        Ok(None) => panic!("a log that is gone was never there"),
        Err(OpenError::Undecided { .. }) => Start::Undecided,
        Err(OpenError::Store(_)) => Start::Damaged,
        Err(error) => panic!("{error}"),
    }
}

fn assert_whole(directory: &Path) {
    let log = Connection::open(directory.join(DATABASE)).unwrap();
    let found: String = log.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

#[tokio::test]
async fn open_never_silently_starts_files_that_do_not_belong_together() {
    let logs = Logs::new().await;
    for (database, wal) in ALL.iter().flat_map(|one| ALL.iter().map(move |other| (*one, *other))) {
        for shm in ALL {
            let pieces = [database, wal, shm];
            let directory = logs.lay_out(pieces);
            let expected = expected(database, wal);
            assert_eq!(read(directory.path()).await, expected, "read: {pieces:?}");
            assert_eq!(start(directory.path()).await, expected, "{pieces:?}");
            match expected {
                Start::Whole(_) | Start::RolledBack(_) => assert_whole(directory.path()),
                Start::Damaged | Start::Undecided => {
                    let again = start(directory.path()).await;
                    assert_eq!(again, Start::Undecided, "{pieces:?}");
                    assert!(!directory.path().join(DATABASE).exists(), "{pieces:?}");
                }
            }
        }
    }
}

/// After a power failure, only synced transactions are expected.
#[tokio::test]
async fn open_accepts_the_loss_of_unsynced_transactions_after_a_power_failure() {
    let logs = Logs::new().await;
    let last = String::from_utf8(logs.last.clone()).unwrap();
    let words: Vec<&str> = last.split_whitespace().collect();
    let [id, epoch, position, _, at, _, _] = words[..] else { panic!("{last}") };
    // All transactions since the start are unsynced: three events, and the first one of the -wal.
    let synced = position.parse::<i64>().unwrap() - 4;
    let note = format!("{id} {epoch} {position} {synced} {at} another-boot\n");
    let cut = |bytes: usize| {
        let directory = logs.lay_out([FileOrigin::Now; 3]);
        let wal = directory.path().join("avocet.db-wal");
        fs::File::options().write(true).open(wal).unwrap().set_len(bytes as u64).unwrap();
        fs::write(directory.path().join("avocet.db-last"), &note).unwrap();
        directory
    };
    let whole = logs.now[1].len();
    for (bytes, messages) in [(whole, 6), (whole - 1, 5), (whole / 2, 4), (32, 3)] {
        let found = start(cut(bytes).path()).await;
        assert!(matches!(found, Start::Whole(some) if some <= messages), "{bytes}: {found:?}");
    }
    let table = [
        ("in the same boot", logs.last.clone()),
        ("synced", note.replace(&format!(" {synced} "), &format!(" {position} ")).into()),
    ];
    for (name, last) in table {
        let directory = cut(whole - 1);
        fs::write(directory.path().join("avocet.db-last"), last).unwrap();
        assert_eq!(start(directory.path()).await, Start::RolledBack(5), "{name}");
    }
}

/// Behind a broken frame of the `-wal` are transactions that SQLite silently drops.
#[tokio::test]
async fn open_reports_a_broken_wal_frame_before_others_as_damage() {
    let logs = Logs::new().await;
    let directory = logs.lay_out([FileOrigin::Now; 3]);
    let wal = directory.path().join("avocet.db-wal");
    let mut bytes = fs::read(&wal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&wal, &bytes).unwrap();
    let refused = open(directory.path()).await.unwrap_err().to_string();
    for words in ["is damaged (of ", "changes it has the first", "a frame of its -wal"] {
        assert!(refused.contains(words), "{words:?} is not in: {refused}");
    }
}

/// Most transactions leave `meta` alone, but the first one of each `-wal` writes it.
#[tokio::test]
async fn open_refuses_a_wal_that_began_after_a_checkpoint_beside_an_older_database() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    let [database, wal] = ["", "-wal"].map(|end| directory.path().join(format!("{DATABASE}{end}")));
    let salt = || fs::read(&wal).unwrap()[16..24].to_vec();
    let (mut number, mut kept) = (0, Vec::new());
    while kept.len() < 3 {
        let before = salt();
        number += 1;
        accept(&store, &number.to_string()).await.unwrap();
        if salt() != before {
            // Several transactions into each `-wal`.
            for _ in 0..5 {
                number += 1;
                accept(&store, &number.to_string()).await.unwrap();
            }
            kept.push([&database, &wal].map(|file| fs::read(file).unwrap()));
        }
    }
    let last = fs::read(directory.path().join("avocet.db-last")).unwrap();
    for (database, wal) in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1), (2, 2)] {
        let other = TempDir::new().unwrap();
        fs::write(other.path().join(DATABASE), &kept[database][0]).unwrap();
        fs::write(other.path().join("avocet.db-wal"), &kept[wal][1]).unwrap();
        fs::write(other.path().join("avocet.db-last"), &last).unwrap();
        let expected = if database == wal { Start::Whole(number) } else { Start::Damaged };
        assert_eq!(start(other.path()).await, expected, "database {database}, -wal {wal}");
    }
}

/// An SQLite tool that opens and closes the log after a crash moves everything into the database.
#[tokio::test]
async fn open_accepts_a_log_that_an_sqlite_tool_has_closed() {
    let logs = Logs::new().await;
    let directory = logs.lay_out([FileOrigin::Now; 3]);
    let tool = Connection::open(directory.path().join(DATABASE)).unwrap();
    tool.execute("UPDATE sessions SET used_at = used_at", ()).unwrap();
    drop(tool);
    assert!(!directory.path().join("avocet.db-wal").exists());
    assert_eq!(start(directory.path()).await, Start::Whole(6));
}

#[tokio::test]
async fn open_detects_that_the_wal_of_a_database_is_missing() {
    let logs = Logs::new().await;
    let directory = logs.lay_out([FileOrigin::Now, FileOrigin::Absent, FileOrigin::Absent]);
    fs::remove_file(directory.path().join("avocet.db-last")).unwrap();
    assert_eq!(start(directory.path()).await, Start::RolledBack(3));
    // A database that was closed in order is complete without other files.
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).await.unwrap();
    accept(&store, "1").await.unwrap();
    store.close().await;
    for piece in ["avocet.db-wal", "avocet.db-shm", "avocet.db-last"] {
        fs::remove_file(directory.path().join(piece)).unwrap();
    }
    assert_eq!(start(directory.path()).await, Start::Whole(1));
}

#[tokio::test]
async fn open_of_an_older_copy_put_back_by_hand_sends_nothing_again() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(DATABASE);
    let store = open(directory.path()).await.unwrap();
    let address = message("1").session.address();
    let planned = Planned { address: address.clone(), chunks: vec![Content::text("hello")] };
    store.enqueue(&planned, &"hello".parse().unwrap(), None).await.unwrap();
    accept(&store, "1").await.unwrap();
    store.close().await;
    let copy = fs::read(&path).unwrap();
    let store = open(directory.path()).await.unwrap();
    accept(&store, "2").await.unwrap();
    store.close().await;
    fs::write(&path, copy).unwrap();

    let store = open(directory.path()).await.unwrap();
    let status = store.log_status().await.unwrap();
    assert_eq!((status.queued, status.unconfirmed, status.pending), (0, 1, 1), "{status:?}");
    let why = status.rolled_back.unwrap().why;
    assert!(why.starts_with("of ") && why.contains("2026-01-01"), "{why}");
    let notice = store.head(&address).await.unwrap().unwrap().delivery.content.text;
    assert_eq!(
        notice,
        "My log is not up to date: its newest part was lost. I do not know whether I have answered \
            your message: /retry answers again, if you still want that. I do not know whether a \
            message of mine arrived: /resend sends again."
    );
    store.close().await;
    // A roll-back is reported once; after that, the log is normal.
    let store = open(directory.path()).await.unwrap();
    accept(&store, "3").await.unwrap();
    let status = store.log_status().await.unwrap();
    assert_eq!((status.queued, status.pending), (1, 1), "{status:?}");
}

#[tokio::test]
async fn open_clears_the_damage_marker_for_a_whole_database_or_start_empty() {
    for start_empty in [false, true] {
        let logs = Logs::new().await;
        let directory = logs.lay_out([FileOrigin::Absent, FileOrigin::Now, FileOrigin::Absent]);
        let marker = directory.path().join("avocet.db-damage");
        assert_eq!(start(directory.path()).await, Start::Undecided);
        let text = fs::read_to_string(&marker).unwrap();
        assert!(
            text.contains("it is gone, but not its -wal") && text.contains("2026-01-01"),
            "{text}"
        );
        if !start_empty {
            let [database, wal, _] = &logs.now;
            fs::write(directory.path().join(DATABASE), database).unwrap();
            fs::write(directory.path().join("avocet.db-wal"), wal).unwrap();
        }
        let options = OpenOptions { start_empty, ..options(directory.path()) };
        let store = open_with(options).await.unwrap();
        assert_eq!(messages(&store).await, if start_empty { 0 } else { 6 });
        assert!(!marker.exists());
        store.close().await;
        open(directory.path()).await.unwrap();
    }
}

/// The marker is written before files are moved, so that the next start after a crash in between
/// refuses to begin an empty log.
#[tokio::test]
async fn open_finishes_a_move_of_damaged_files_that_a_crash_interrupted() {
    let logs = Logs::new().await;
    let directory = logs.lay_out([FileOrigin::Empty, FileOrigin::Now, FileOrigin::Now]);
    assert_eq!(start(directory.path()).await, Start::Damaged);
    let aside = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let aside = aside.filter(|path| path.to_str().unwrap().contains(".damaged-"));
    let wal = aside.into_iter().find(|path| path.to_str().unwrap().ends_with("-wal")).unwrap();
    fs::rename(&wal, directory.path().join("avocet.db-wal")).unwrap();
    assert_eq!(start(directory.path()).await, Start::Undecided);
    assert!(wal.exists() && !directory.path().join("avocet.db-wal").exists());
}
