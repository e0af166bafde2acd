//! Opening the log: lock, check, pragmas, schema, and the one transaction that recovers.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::{Clock, QueueMode, Redactor, StoreError, Timestamp};
use avocet_supervise::Group;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::binding::{Beside, examine};
use crate::damage::{self, Damage};
use crate::error::{store_error, unusable};
use crate::identity::Identity;
use crate::last::{Last, LastFile, boot};
use crate::lock::Lock;
use crate::migrate;
use crate::missing::{missing, roll_back};
use crate::readers::Readers;
use crate::recover::recover;
use crate::tx::{Db, Result, Tx};
use crate::writer::{Opened, Writer};
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
    /// Takes the lock of the data directory and opens the log in it.
    ///
    /// # Errors
    /// As for [`Lock::take`] and [`Self::open_locked`].
    pub async fn open(
        options: OpenOptions,
        clock: Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, OpenError> {
        let lock = Lock::take(&options.directory, options.holder, clock.as_ref()).await?;
        Self::open_locked(lock, options, clock, group)
    }

    /// Opens the log in a data directory whose lock was taken. A daemon begins an epoch and recovers what the last one left; a command
    /// writes in the epoch that it finds.
    ///
    /// # Errors
    /// [`OpenError`] says what is in the way and what to do about it. Nothing was lost.
    pub fn open_locked(
        lock: Lock,
        options: OpenOptions,
        clock: Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, OpenError> {
        let (path, now) = (options.directory.join(DATABASE), clock.now());
        if !path.exists() {
            damage::check_empty_place(&path, options.start_empty, now)?;
            migrate::create(&path)?;
        }
        let (mut connection, beside) = checked(&path, now)?;
        pragmas(&connection, &path)?;
        migrate::migrate(&mut connection, &path, migrate::MIGRATIONS)?;
        let begun = up_to_date(&connection, &path, beside, &options.redactor, now)
            .and_then(|()| begin(&connection, &path, &options, now));
        let (epoch, last) = match begun {
            Err(OpenError::Store(StoreError::Damaged { detail, .. })) => {
                drop(connection);
                return Err(damage::move_aside(&path, detail, now));
            }
            begun => begun?,
        };
        Damage::remove(&path)?;
        let database = Identity::of(&path).map_err(|error| unusable(&path, error))?;
        let redactor = options.redactor;
        let opened = Opened { connection, database, epoch, last };
        let writer = Writer::start(opened, clock, redactor, group)
            .map_err(|error| StoreError::Internal(format!("no thread for the writer: {error}")))?;
        let readers = Readers::start(&path, group, || read_only(&path))?;
        Ok(Self {
            writer: Some(writer),
            readers,
            durability: options.durability,
            default_mode: options.default_mode,
            answer_edits: options.answer_edits,
            epoch,
            lock: Some(Arc::new(lock)),
            missing: None,
        })
    }

    /// Opens the log for reading only, whoever holds it; `None` where no daemon ever ran. Every write
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
                    damage::look_at_empty_place(&path)?;
                }
                return Ok(None);
            }
            Err(error) => return Err(unusable(&path, error)),
        }
        let beside = check_to_read(directory)?;
        // Before the log is read, so that a daemon that writes meanwhile is not taken for one that has lost something.
        let last = Last::read(&path);
        let connection = read_only(&path)?;
        migrate::check_version(&connection, &path)?;
        let db = Db { connection: &connection, path: &path };
        let missing = missing(db, last.as_ref(), beside)?.filter(|_| !Lock::is_held(directory));
        Ok(Some(Self {
            writer: None,
            readers: Readers::start(&path, group, || read_only(&path))?,
            durability: Durability::Synced,
            default_mode: QueueMode::default(),
            answer_edits: false,
            epoch: current_epoch(db)?,
            lock: None,
            missing: missing.zip(last).map(|(missing, last)| (last.at, missing.why)),
        }))
    }
}

/// Refuses to read a log that a start would move aside. A -wal that a daemon writes at this moment is not looked at.
pub(crate) fn check_to_read(directory: &Path) -> Result<Beside, OpenError> {
    let path = directory.join(DATABASE);
    let found = look(&path).map_err(|error| unusable(&path, error))?;
    match found {
        Ok(beside) => Ok(beside),
        Err(_) if Lock::is_held(directory) => Ok(Beside::Wal { broken: false }),
        Err(detail) => Err(StoreError::Damaged { path: path.display().to_string(), detail }.into()),
    }
}

/// What is wrong with the files, as far as that can be seen without SQLite, or what lies beside the database.
pub(crate) fn look(path: &Path) -> io::Result<Result<Beside, String>> {
    match damage::find_in_header(path)? {
        Some(detail) => Ok(Err(detail.to_owned())),
        None => examine(path),
    }
}

/// A connection to a database that is whole, and what lies beside it; one that is not whole is moved aside.
fn checked(path: &Path, now: Timestamp) -> Result<(Connection, Beside), OpenError> {
    let found = look(path).map_err(|error| unusable(path, error))?;
    let beside = found.map_err(|detail| damage::move_aside(path, detail, now))?;
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
        None => Ok((connection, beside)),
        Some(detail) => {
            drop(connection);
            Err(damage::move_aside(path, detail, now))
        }
    }
}

/// A log that has lost its newest transactions is distrusted. It counts as damaged if its -wal still holds some of
/// them, because more can be saved then.
fn up_to_date(
    connection: &Connection,
    path: &Path,
    beside: Beside,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<(), OpenError> {
    let db = Db { connection, path };
    let last = Last::read(path);
    let Some(rolled_back) = missing(db, last.as_ref(), beside)? else { return Ok(()) };
    let damaged = match beside {
        Beside::Wal { broken: true } => {
            let why = &rolled_back.why;
            Some(format!(
                "{why}; a frame of its -wal cannot be read, and some of them are behind it"
            ))
        }
        _ => damage::find_thoroughly(db)?,
    };
    if let Some(detail) = damaged {
        let path = path.display().to_string();
        return Err(StoreError::Damaged { path, detail }.into());
    }
    let ended = roll_back(db, &rolled_back, redactor, now)?;
    tracing::warn!(
        why = rolled_back.why,
        messages = ended.messages,
        turns = ended.turns,
        deliveries = ended.deliveries,
        "the log is an older state than the one that was used last; what was accepted and done since is lost. \
         What was open in it is ended and not repeated, and its chats are told"
    );
    Ok(())
}

pub(crate) fn read_only(path: &Path) -> Result<Connection> {
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

pub(crate) fn current_epoch(db: Db<'_>) -> Result<i64> {
    db.one("SELECT epoch FROM meta", (), |row| row.get(0))
}

/// The first transaction. A daemon begins a new epoch with it, and recovers what the last one left.
fn begin(
    connection: &Connection,
    path: &Path,
    options: &OpenOptions,
    now: Timestamp,
) -> Result<(i64, LastFile), OpenError> {
    let db = Db { connection, path };
    let mut tx = Tx { db, epoch: current_epoch(db)?, now, redactor: &options.redactor };
    let error = |error| store_error(path, &error);
    let transaction = connection.unchecked_transaction().map_err(error)?;
    if options.holder == Holder::Daemon {
        tx.update("UPDATE meta SET epoch = epoch + 1 WHERE only = 1", ())?;
        tx.epoch += 1;
        recover(&tx)?;
    }
    tx.update("UPDATE meta SET in_use = 1, commits = commits + 1 WHERE only = 1", ())?;
    transaction.commit().map_err(error)?;
    // The database itself has to say that it is in use: its -wal can be deleted.
    if let Err(error) = db.one("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())) {
        tracing::warn!(%error, "the log could not be checkpointed");
    }
    let epoch = tx.epoch;
    let (id, commits) =
        db.one("SELECT id, commits FROM meta", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let last = Last { id, epoch, commits, synced: commits, at: now, boot: boot() };
    let last = LastFile::begin(path, last).map_err(|error| unusable(path, error))?;
    Ok((epoch, last))
}
