//! Opens the log: lock, check, pragmas, schema, and the transaction that recovers open work.
//!
//! ```text
//! lock         of the data directory: one process at a time
//! erasure      finish one that a crash interrupted
//! place        no database: create one, unless another one was here and is gone
//! files        look at the database and its `-wal` before SQLite does
//! check        the pages, if that must come first                 damaged: moved aside
//! pragmas      set, and read back                                 not accepted: refused
//! migrate      after a copy of the old version
//! up to date   are transactions missing that were noted outside?  open work is ended
//! begin        one transaction: epoch + 1, recovery (`recover.rs`), in use
//! file         note this start beside the database
//! threads      the writer, the readers, and a check beside the work, if one is needed
//! ```
//!
//! **Nothing writes before the checks.** A damaged log is moved aside as it was found: a write
//! could destroy what `avocet recover` can still read. SQLite itself may write when it opens a
//! `-wal`, so the files are looked at before.
//!
//! **A log that is too old** is one that a copy or a file system has set back. Its messages may
//! have been answered, and its sends may have arrived, in the part that is lost. So its open work
//! is ended with a notice, and not repeated. This comes before the recovery, which would queue it
//! again.
//!
//! **The epoch begins last.** From then on, writes of an older process are refused. A crash before
//! it changes nothing that the next start would miss.
//!
//! A command ([`LogHolder::Command`]) opens the log in the current epoch and recovers nothing. To
//! only read needs no lock ([`SqliteStore::open_read_only`]).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::bus::QueueMode;
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::daemon::Live;
use avocet_protocol::store::StoreError;
use avocet_supervise::Group;
use avocet_text::Redactor;
use jiff::tz::TimeZone;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch;

use crate::binding::WalState;
use crate::check::{NeededCheck, RunningCheck, find_needed_check};
use crate::connect::{keep_plans, read_only};
use crate::damage::{self, UndecidedDamage};
use crate::erase::finish_erasure;
use crate::error::{is_on_read_only_disk, store_error, unusable_path};
use crate::files::DATABASE;
use crate::identity::OpenFileIdentity;
use crate::last::{LastFile, LastTransaction, PageState, SharedPageState, boot_id};
use crate::lock::DirectoryLock;
use crate::missing::{find_missing, roll_back};
use crate::past_cache::PastCache;
use crate::precheck::{check_to_read, look_at_files};
use crate::readers::ReaderPool;
use crate::recover::recover_work;
use crate::rows::events::POSITION;
use crate::rows::{events, owner_rules, stops};
use crate::tx::{ChangeMarks, Db, Result, Tx};
use crate::wal_begin::WalBegin;
use crate::writer::{ChangeNotices, LogWriter, OpenDatabase, WriterParts};
use crate::{Durability, LogHolder, OpenError, SqliteStore, migrate, schema};

/// Settings for opening the log.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The data directory; created for its owner only if it is missing.
    pub directory: PathBuf,
    /// The durability of synced writes. [`Durability::Process`] turns all of them into process
    /// writes.
    pub durability: Durability,
    /// The queue mode of sessions without a mode of their own.
    pub default_mode: QueueMode,
    /// `true` if the correction of an answered message gets a new answer.
    pub answer_edits: bool,
    /// Start with an empty log although a damaged one was moved aside.
    pub start_empty: bool,
    /// Keeps secrets out of the audit table.
    pub redactor: Arc<Redactor>,
    /// The time zone of times in messages.
    pub zone: TimeZone,
    /// The kind of process that opens the log.
    pub holder: LogHolder,
}

impl SqliteStore {
    /// Takes the lock of the data directory and opens the log.
    ///
    /// # Errors
    /// Those of [`DirectoryLock::take_lock`] and [`Self::open_locked`].
    pub async fn open(
        options: OpenOptions,
        clock: Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, OpenError> {
        let lock =
            DirectoryLock::take_lock(&options.directory, options.holder, clock.as_ref()).await?;
        Self::open_locked(lock, options, clock, group)
    }

    /// Opens the log in a locked data directory. A daemon begins an epoch and recovers open work; a
    /// command writes in the current epoch.
    ///
    /// # Errors
    /// [`OpenError`] names the problem and its solution. No data was lost.
    pub fn open_locked(
        lock: DirectoryLock,
        options: OpenOptions,
        clock: Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Self, OpenError> {
        let (path, now) = (options.directory.join(DATABASE), clock.now());
        finish_erasure(&path)?;
        if !path.exists() {
            damage::check_empty_place(&path, options.start_empty, now)?;
            schema::create_database(&path)?;
        }
        let CheckedLog { mut connection, beside, needed } =
            open_checked(&path, options.holder, now)?;
        set_pragmas(&connection, &path)?;
        migrate::migrate_log(&mut connection, &path, schema::MIGRATIONS)?;
        let begun = up_to_date(&connection, &path, beside, &options.redactor, now)
            .and_then(|()| begin_epoch(&connection, &path, &options, needed, now));
        let (epoch, last) = match begun {
            Err(OpenError::Store(StoreError::Damaged { detail, .. })) => {
                drop(connection);
                return Err(damage::move_aside(&path, detail, now));
            }
            begun => begun?,
        };
        UndecidedDamage::remove_marker(&path)?;
        let database =
            OpenFileIdentity::from_path(&path).map_err(|error| unusable_path(&path, error))?;
        let OpenOptions { redactor, zone, .. } = options;
        let check = RunningCheck::new(needed, last.page_state());
        give_back(&connection, &path)?;
        let wal = WalBegin::watch(&mut connection).map_err(|error| store_error(&path, &error))?;
        let sql = "SELECT commits FROM meta";
        let commits =
            Db { connection: &connection, path: &path }.query_one(sql, (), |row| row.get(0))?;
        let opened = OpenDatabase { connection, database, epoch, commits, last, wal };
        let db = Db { connection: &opened.connection, path: &path };
        let rules = Live::new(owner_rules::read_rules(db)?);
        let stop = Live::new(stops::read_stop(db)?);
        let newest_event = events::newest_event(db)?;
        let newest_event = watch::Sender::new(newest_event);
        let changed = Arc::new(ChangeNotices { newest_event, ..ChangeNotices::default() });
        let pasts = Arc::<PastCache>::default();
        let shared = WriterParts {
            clock,
            redactor: redactor.clone(),
            zone,
            changed: changed.clone(),
            pasts: pasts.clone(),
            rules: rules.clone(),
            stop: stop.clone(),
        };
        let writer = LogWriter::start(opened, shared, group).map_err(|error| {
            StoreError::Internal(format!("cannot start the writer's thread: {error}"))
        })?;
        let readers = ReaderPool::start(&path, group)?;
        if needed == NeededCheck::Beside {
            check.start(&path, &writer, group)?;
        }
        Ok(Self {
            writer: Some(writer),
            readers,
            durability: options.durability,
            default_mode: options.default_mode,
            answer_edits: options.answer_edits,
            epoch,
            lock: Some(Arc::new(lock)),
            missing: None,
            changed,
            check,
            pasts,
            redactor,
            rules,
            stop,
        })
    }

    /// Opens the log for reading only, without the lock; `None` if no daemon ever ran here. Every
    /// write fails with [`StoreError::Closed`].
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
            Err(error) => return Err(unusable_path(&path, error)),
        }
        let beside = check_to_read(directory)?;
        // Read before the database: transactions committed meanwhile must not count as lost.
        let last = LastTransaction::read(&path);
        let connection = read_only(&path)?;
        schema::check_version(&connection, &path)?;
        let db = Db { connection: &connection, path: &path };
        let missing =
            find_missing(db, last.as_ref(), beside)?.filter(|_| !DirectoryLock::is_held(directory));
        Ok(Some(Self {
            writer: None,
            readers: ReaderPool::start(&path, group)?,
            durability: Durability::Synced,
            default_mode: QueueMode::default(),
            answer_edits: false,
            epoch: db.current_epoch()?,
            lock: None,
            changed: Arc::default(),
            check: RunningCheck::new(
                NeededCheck::Header,
                SharedPageState::new(PageState::Unchecked),
            ),
            pasts: Arc::default(),
            redactor: Arc::default(),
            rules: Live::new(owner_rules::read_rules(db)?),
            stop: Live::new(stops::read_stop(db)?),
            missing: missing.zip(last).map(|(missing, last)| (last.at, missing.why)),
        }))
    }
}

/// An open database.
struct CheckedLog {
    connection: Connection,
    /// The state of the `-wal` before SQLite opened the database.
    beside: WalState,
    /// The check that the database needed. [`NeededCheck::First`] is done.
    needed: NeededCheck,
}

/// Opens a database, and checks it if that must come first. A damaged one is moved aside.
fn open_checked(path: &Path, holder: LogHolder, now: Timestamp) -> Result<CheckedLog, OpenError> {
    let found = look_at_files(path).map_err(|error| unusable_path(path, error))?;
    let beside = found.map_err(|detail| damage::move_aside(path, detail, now))?;
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // A damaged database must be moved aside unchanged; the writer checkpoints a whole one.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        keep_plans(&connection)?;
        Ok(connection)
    };
    let connection = open().map_err(|error| store_error(path, &error))?;
    // SQLite opens a file that it may not write for reading.
    if connection.is_readonly("main").map_err(|error| store_error(path, &error))? {
        let why = if is_on_read_only_disk(path) {
            ErrorKind::ReadOnlyFilesystem
        } else {
            ErrorKind::PermissionDenied
        };
        return Err(unusable_path(path, why.into()));
    }
    let db = Db { connection: &connection, path };
    let needed = find_needed_check(db, LastTransaction::read(path).as_ref(), beside, holder);
    // A database whose first pages are unreadable gets the check that describes its damage.
    let needed = needed.unwrap_or(NeededCheck::First);
    let found = if needed == NeededCheck::First { damage::find_damage(db)? } else { None };
    match found {
        None => Ok(CheckedLog { connection, beside, needed }),
        Some(detail) => {
            drop(connection);
            Err(damage::move_aside(path, detail, now))
        }
    }
}

/// Ends open work in a log that has lost its newest transactions. If its `-wal` still contains some
/// of them, the log counts as damaged, because `avocet recover` can save more.
fn up_to_date(
    connection: &Connection,
    path: &Path,
    beside: WalState,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<(), OpenError> {
    let db = Db { connection, path };
    let last = LastTransaction::read(path);
    let Some(rolled_back) = find_missing(db, last.as_ref(), beside)? else { return Ok(()) };
    let damaged = match beside {
        WalState::Wal { broken: true } => {
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
        "the log is older than the last one that was used; everything accepted and done since is \
            lost. Its open messages, turns and deliveries are ended, not repeated, and their chats \
            get a notice"
    );
    Ok(())
}

/// Settings on which durability rests: name, value to set, value that SQLite reads back.
const PRAGMAS: [(&str, &str, &str); 6] = [
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", "2"),
    ("foreign_keys", "ON", "1"),
    ("trusted_schema", "OFF", "0"),
    ("busy_timeout", "5000", "5000"),
    ("journal_size_limit", "67108864", "67108864"),
];

fn set_pragmas(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let db = Db { connection, path };
    connection.set_prepared_statement_cache_capacity(128);
    for (name, value, expected) in PRAGMAS {
        let set = connection.pragma_update(None, name, value);
        set.map_err(|error| db.store_error(&error))?;
        let found = db.query_one(&format!("PRAGMA {name}"), (), |row| {
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

/// Frees the pages and statements of the start. The check alone takes half a megabyte.
fn give_back(connection: &Connection, path: &Path) -> Result<()> {
    connection.flush_prepared_statement_cache();
    let given_back = connection.execute_batch("PRAGMA shrink_memory");
    given_back.map_err(|error| store_error(path, &error))
}

/// Runs the first transaction, in which a daemon begins an epoch and recovers open work.
fn begin_epoch(
    connection: &Connection,
    path: &Path,
    options: &OpenOptions,
    checked: NeededCheck,
    now: Timestamp,
) -> Result<(i64, LastFile), OpenError> {
    let db = Db { connection, path };
    let (redactor, changed) = (&options.redactor, &ChangeMarks::default());
    let mut tx =
        Tx { db, epoch: db.current_epoch()?, now, redactor, zone: &TimeZone::UTC, changed };
    let error = |error| store_error(path, &error);
    let transaction = connection.unchecked_transaction().map_err(error)?;
    let newest_event = events::newest_event(db)?;
    if options.holder == LogHolder::Daemon {
        tx.change_rows("UPDATE meta SET epoch = epoch + 1 WHERE only = 1", ())?;
        tx.epoch += 1;
        recover_work(&tx)?;
    }
    tx.change_rows("UPDATE meta SET in_use = 1, commits = commits + 1 WHERE only = 1", ())?;
    events::set_times(&tx, newest_event)?;
    transaction.commit().map_err(error)?;
    // The database file itself must say that it is in use, because its `-wal` may be deleted.
    if let Err(error) = db.query_one("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())) {
        tracing::warn!(%error, "cannot checkpoint the log at the start; nothing is lost");
    }
    let epoch = tx.epoch;
    let sql = format!("SELECT id, {POSITION} FROM meta");
    let (id, position) = db.query_one(&sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let pages = match checked {
        NeededCheck::Header | NeededCheck::First => PageState::Checked,
        NeededCheck::Beside | NeededCheck::Skipped => PageState::Unchecked,
    };
    let (synced, boot) = (position, boot_id());
    let last = LastTransaction { id, epoch, position, synced, at: now, boot, pages };
    let last = LastFile::begin_file(path, last).map_err(|error| unusable_path(path, error))?;
    Ok((epoch, last))
}
