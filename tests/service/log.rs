//! Access to the daemon's log for tests: reading it, and locking it against writes.

use avocet_tests::Home;
use rusqlite::{Connection, OpenFlags};

/// Returns the only number that a query finds.
pub(crate) fn number(home: &Home, query: &str) -> i64 {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let log = Connection::open_with_flags(database(home), flags).unwrap();
    log.query_row(query, (), |row| row.get(0)).unwrap()
}

/// Returns the only text that a query finds.
pub(crate) fn text(home: &Home, query: &str) -> String {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let log = Connection::open_with_flags(database(home), flags).unwrap();
    log.query_row(query, (), |row| row.get(0)).unwrap()
}

/// Changes the log of a stopped daemon.
pub(crate) fn change(home: &Home, statement: &str) {
    let log = Connection::open(database(home)).unwrap();
    assert_eq!(log.execute(statement, ()).unwrap(), 1, "{statement}");
}

/// Holds the write lock of the log: the daemon's writer waits until this is dropped.
pub(crate) struct LogLock {
    log: Connection,
}

impl LogLock {
    pub(crate) fn take(home: &Home) -> Self {
        let log = Connection::open(database(home)).unwrap();
        log.pragma_update(None, "busy_timeout", 5000).unwrap();
        log.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self { log }
    }

    /// Makes the log belong to a later daemon.
    pub(crate) fn fence(self) {
        self.log.execute_batch("UPDATE meta SET epoch = epoch + 1; COMMIT").unwrap();
    }
}

fn database(home: &Home) -> std::path::PathBuf {
    home.data_dir().join("avocet.db")
}
