use std::fs;

use tempfile::TempDir;

use super::*;
use crate::schema::create_database;

/// A database in WAL mode with a table `meta`.
struct WalDatabase {
    directory: TempDir,
    connection: Connection,
}

impl WalDatabase {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("avocet.db");
        create_database(&path).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        Self { directory, connection }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("avocet.db")
    }

    /// Commits a transaction in the way of the writer.
    fn commit(&self, change: &str) {
        let sql = format!("UPDATE meta SET commits = commits + 1 {change}");
        self.connection.execute(&sql, ()).unwrap();
    }

    fn checkpoint(&self) {
        self.connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(())).unwrap();
    }

    fn piece(&self, suffix: &str) -> Vec<u8> {
        fs::read(with_suffix(&self.path(), suffix)).unwrap()
    }
}

fn examined(database: &[u8], wal: &[u8]) -> Result<WalState, String> {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("avocet.db");
    fs::write(&path, database).unwrap();
    fs::write(with_suffix(&path, "-wal"), wal).unwrap();
    examine_wal(&path).unwrap()
}

const FITS: Result<WalState, String> = Ok(WalState::Wal { broken: false });

#[test]
fn examine_accepts_a_wal_between_its_first_and_last_transaction() {
    let log = WalDatabase::new();
    log.commit(", in_use = 1");
    log.checkpoint();
    let before = log.piece("");
    log.commit("");
    let first = log.piece("-wal");
    log.commit("");
    log.commit("");
    let wal = log.piece("-wal");
    assert_eq!(examined(&before, &wal), FITS, "nothing of it is checkpointed");
    log.checkpoint();
    let after = log.piece("");
    assert_eq!(examined(&after, &wal), FITS, "all of it is checkpointed");
    let earlier = examined(&after, &first).unwrap_err();
    assert!(earlier.contains("an earlier state") && earlier.contains("has 4"), "{earlier}");
    log.commit("");
    let later = examined(&before, &log.piece("-wal")).unwrap_err();
    assert!(later.contains("a later state") && later.contains("number 5"), "{later}");
    let other = examined(&WalDatabase::new().piece(""), &wal).unwrap_err();
    assert!(other.contains("another database"), "{other}");
}

/// A roll-back gives the log a new id. A crash may come before the database itself has that id.
#[test]
fn examine_accepts_a_roll_back_that_is_only_in_the_wal() {
    let log = WalDatabase::new();
    log.commit(", in_use = 1");
    log.checkpoint();
    log.commit("");
    let old = log.piece("-wal");
    let before = log.piece("");
    log.commit(", was = id, id = 'new'");
    log.commit("");
    let wal = log.piece("-wal");
    assert_eq!(examined(&before, &wal), FITS);
    log.checkpoint();
    let after = log.piece("");
    assert_eq!(examined(&after, &wal), FITS);
    assert!(examined(&after, &old).is_err(), "the -wal of the lost part does not fit any more");
}

#[test]
fn examine_reports_a_wal_without_a_header_as_damage_while_the_log_is_in_use() {
    for in_use in [0, 1] {
        let log = WalDatabase::new();
        log.commit(&format!(", in_use = {in_use}"));
        log.checkpoint();
        let found = examined(&log.piece(""), b"torn");
        assert_eq!(found.is_err(), in_use == 1, "{found:?}");
    }
}

#[test]
fn columns_follow_the_order_of_the_stored_rows() {
    let table = [
        ("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)", Some(vec!["a", "b"])),
        ("CREATE TABLE t (a, b, c, PRIMARY KEY (c, a)) WITHOUT ROWID", Some(vec!["c", "a", "b"])),
        ("CREATE TABLE t (", None),
        ("DROP TABLE t", None),
    ];
    for (sql, expected) in table {
        let found = columns_of_table(sql);
        assert_eq!(
            found.as_deref(),
            expected
                .map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
                .as_deref(),
            "{sql}"
        );
    }
}
