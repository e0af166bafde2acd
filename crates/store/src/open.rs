//! Opening the log: lock, check, pragmas, schema, and the one transaction that recovers.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::{Clock, QueueMode, Redactor, StoreError};
use avocet_supervise::Group;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::damage;
use crate::error::store_error;
use crate::lock::Lock;
use crate::migrate;
use crate::readers::Readers;
use crate::recover::recover;
use crate::tx::{Db, Result, Tx};
use crate::writer::Writer;
use crate::{Durability, Holder, OpenError, SqliteStore};

/// The database's file name inside the data directory.
pub const DATABASE: &str = "avocet.db";

/// How the log is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The data directory; made if it does not exist, readable by its owner alone.
    pub directory: PathBuf,
    /// When a promise counts as kept. [`Durability::Process`] makes every write such a one.
    pub durability: Durability,
    /// The queue mode of sessions that have not chosen one.
    pub default_mode: QueueMode,
    /// Whether the correction of a message that was answered is answered anew.
    pub answer_edits: bool,
    /// Begin with an empty log although a damaged one was moved aside.
    pub start_empty: bool,
    /// What the audit table keeps out of what it says.
    pub redactor: Arc<Redactor>,
    /// Who opens it.
    pub holder: Holder,
}

impl SqliteStore {
    /// Opens the log. A daemon counts an epoch and recovers what the last one left; a command
    /// writes in the epoch that it finds.
    ///
    /// # Errors
    /// [`OpenError`] says what is in the way and what to do about it. Nothing was lost.
    pub async fn open(
        options: OpenOptions,
        clock: Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, OpenError> {
        make_directory(&options.directory)?;
        let lock = Lock::take(&options.directory, options.holder, clock.as_ref()).await?;
        let path = options.directory.join(DATABASE);
        if !path.exists() {
            damage::refuse_silent_start(&path, options.start_empty)?;
            damage::refuse_foreign_wal(&path, clock.now())?;
            migrate::create(&path)?;
        }
        let mut connection = checked(&path, clock.as_ref())?;
        pragmas(&connection, &path)?;
        migrate::migrate(&mut connection, &path, migrate::MIGRATIONS)?;
        let epoch = begin_epoch(&connection, &path, &options, clock.as_ref())?;
        let redactor = options.redactor;
        let writer = Writer::start(connection, path.clone(), epoch, clock, redactor, group)
            .map_err(|error| StoreError::Internal(format!("no thread for the writer: {error}")))?;
        let readers = Readers::start(&path, group, || read_only(&path))?;
        Ok(Self {
            writer: Some(writer),
            readers,
            durability: options.durability,
            default_mode: options.default_mode,
            answer_edits: options.answer_edits,
            epoch,
            _lock: Some(Arc::new(lock)),
        })
    }

    /// Opens the log for looking only, whoever holds it; none where no daemon ever ran. Every write
    /// is [`StoreError::Closed`].
    ///
    /// # Errors
    /// [`OpenError`] if the log cannot be read, or was moved aside.
    pub fn open_read_only(directory: &Path, group: &Group) -> Result<Option<Self>, OpenError> {
        let path = directory.join(DATABASE);
        match fs::metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if directory.exists() {
                    damage::refuse_silent_start(&path, false)?;
                }
                return Ok(None);
            }
            Err(error) => return Err(OpenError::Directory { path, error }),
        }
        let connection = read_only(&path)?;
        migrate::check_version(&connection, &path)?;
        let epoch = current_epoch(Db { connection: &connection, path: &path })?;
        Ok(Some(Self {
            writer: None,
            readers: Readers::start(&path, group, || read_only(&path))?,
            durability: Durability::Synced,
            default_mode: QueueMode::default(),
            answer_edits: false,
            epoch,
            _lock: None,
        }))
    }
}

fn make_directory(directory: &Path) -> Result<(), OpenError> {
    let unusable = |error| OpenError::Directory { path: directory.to_owned(), error };
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => return Err(unusable(ErrorKind::NotADirectory.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unusable(error)),
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory).map_err(unusable)
}

/// A connection to a database that is whole; one that is not is moved aside.
fn checked(path: &Path, clock: &dyn Clock) -> Result<Connection, OpenError> {
    let move_aside = |detail: String| {
        let moved = damage::move_aside(path, clock.now())?;
        Err(OpenError::Damaged { path: path.to_owned(), detail, moved })
    };
    let unusable = |error| OpenError::Directory { path: path.to_owned(), error };
    if let Some(detail) = damage::find_in_header(path).map_err(unusable)? {
        return move_aside(detail.to_owned());
    }
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // A damaged database is moved aside as it is; a whole one is checkpointed by the writer.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        keep_plans(&connection)?;
        Ok(connection)
    };
    let connection = open().map_err(|error| store_error(path, &error))?;
    match damage::find(Db { connection: &connection, path })? {
        None => Ok(connection),
        Some(detail) => {
            drop(connection);
            move_aside(detail)
        }
    }
}

fn read_only(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.pragma_update(None, "busy_timeout", 5000)?;
        keep_plans(&connection)?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(connection)
    };
    open().map_err(|error| store_error(path, &error))
}

/// A prepared statement keeps its plan whatever it is given. Built with `SQLITE_ENABLE_STAT4`, as
/// ours is, SQLite otherwise plans a SELECT anew for every value ("The Query Planner Stability
/// Guarantee").
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// What the promises rest on, in the words in which SQLite reads it back.
const PRAGMAS: [(&str, &str, &str); 6] = [
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", "2"),
    ("foreign_keys", "ON", "1"),
    ("trusted_schema", "OFF", "0"),
    ("busy_timeout", "5000", "5000"),
    ("journal_size_limit", "67108864", "67108864"),
];

fn pragmas(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let db = Db { connection, path };
    connection.set_prepared_statement_cache_capacity(128);
    for (name, value, expected) in PRAGMAS {
        let set = connection.pragma_update(None, name, value);
        set.map_err(|error| db.error(&error))?;
        let found = db.one(&format!("PRAGMA {name}"), (), |row| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                other => String::from_utf8_lossy(other.as_bytes().unwrap_or_default()).into_owned(),
            })
        })?;
        if found != expected {
            let pragma = format!("{name} = {value}");
            return Err(OpenError::Pragma { path: path.to_owned(), pragma, found });
        }
    }
    Ok(())
}

fn current_epoch(db: Db<'_>) -> Result<i64> {
    db.one("SELECT epoch FROM meta", (), |row| row.get(0))
}

/// A daemon's first transaction: the new epoch, and everything that recovery moves.
fn begin_epoch(
    connection: &Connection,
    path: &Path,
    options: &OpenOptions,
    clock: &dyn Clock,
) -> Result<i64> {
    let db = Db { connection, path };
    let found = current_epoch(db)?;
    if options.holder == Holder::Command {
        return Ok(found);
    }
    let transaction =
        connection.unchecked_transaction().map_err(|error| store_error(path, &error))?;
    let tx = Tx { db, epoch: found, now: clock.now(), redactor: &options.redactor };
    tx.update("UPDATE meta SET epoch = epoch + 1 WHERE only = 1", ())?;
    let tx = Tx { epoch: found + 1, ..tx };
    recover(&tx)?;
    transaction.commit().map_err(|error| store_error(path, &error))?;
    Ok(tx.epoch)
}
