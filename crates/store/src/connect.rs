//! Read-only connections to a database.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{is_on_read_only_disk, store_error};
use crate::files::with_suffix;
use crate::tx::Result;

/// Opens a database that a writer may change meanwhile. On a read-only disk, SQLite cannot make the
/// files beside the database that it needs for such changes.
pub(crate) fn read_only(path: &Path) -> Result<Connection> {
    let is_unchanging = is_on_read_only_disk(path) && !with_suffix(path, "-wal").exists();
    let connection = if is_unchanging { open_unchanging(path) } else { open_changing(path) }?;
    let prepare = || {
        connection.pragma_update(None, "busy_timeout", 5000)?;
        keep_plans(&connection)
    };
    prepare().map_err(|error| store_error(path, &error))?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

fn open_changing(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|error| store_error(path, &error))
}

/// Opens a database without a writer, and creates no files beside it.
pub(crate) fn open_unchanging(path: &Path) -> Result<Connection> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let encoded: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let opened = Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags);
    opened.map_err(|error| store_error(path, &error))
}

/// Lets a prepared statement keep its plan for all values. Our SQLite is built with
/// `SQLITE_ENABLE_STAT4`, which otherwise plans a SELECT anew for each value ("The Query Planner
/// Stability Guarantee").
pub(crate) fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_unchanging_accepts_a_path_with_special_characters_of_a_url() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("a b?c#d%41é.db");
        Connection::open(&path).unwrap().execute("CREATE TABLE t (c)", ()).unwrap();
        let opened = open_unchanging(&path).unwrap();
        let tables: i64 =
            opened.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).unwrap();
        assert_eq!(tables, 1);
    }
}
