//! Replaces the log by a copy (`avocet restore`), or by the readable rest of a damaged log (`avocet
//! recover`). The old log is moved aside and kept.
//!
//! The new log is synced before any file is moved, and a marker exists while files are moved. So
//! the next start after a crash in between refuses to begin an empty log.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use avocet_protocol::clock::Timestamp;
use avocet_text::Redactor;
use rusqlite::Connection;
use serde::Serialize;

use crate::binding::{DatabaseMeta, WalState};
use crate::connect::{open_unchanging, read_only};
use crate::copy::{CopyError, check_room, largest_copy_bytes, write_copy};
use crate::damage::{UndecidedDamage, find_thoroughly, format_date, free_name, move_pieces};
use crate::distrust::{EndedWork, RolledBack};
use crate::error::{store_error, unusable_path};
use crate::files::{DATABASE, NEW, PART, put_in_place, remove_with_journal, with_suffix};
use crate::last::{LastFile, LastTransaction, PageState, boot_id};
use crate::missing::{roll_back, unsure_until};
use crate::precheck::look_at_files;
use crate::raw::RawPages;
use crate::rows::events::POSITION;
use crate::salvage::{SalvageReport, last_numbers, newest_damaged, salvage_log};
use crate::tx::Db;
use crate::{DirectoryLock, migrate, schema};

/// File name infix of a replaced log.
const REPLACED: &str = ".replaced-";

/// A replacement of the log in a data directory, on behalf of a person.
#[derive(Debug)]
pub struct LogReplacement<'a> {
    /// The data directory.
    pub directory: &'a Path,
    /// Held, so that no daemon uses the log meanwhile.
    pub lock: &'a DirectoryLock,
    /// The number of the last audit row that was noted outside of the log.
    pub audit_head: Option<i64>,
    /// Keeps secrets out of the audit table.
    pub redactor: &'a Redactor,
    /// The current time.
    pub now: Timestamp,
}

/// The result of restoring a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoredLog {
    /// The copy, which stays.
    pub from: PathBuf,
    /// Time of the copy; `None` if `avocet backup` did not make it.
    pub copied_at: Option<Timestamp>,
    /// New path of the old log; `None` if there was no old log.
    pub moved: Option<PathBuf>,
    /// Number of messages in the restored log.
    pub messages: u64,
    /// Work that was open in the copy and is ended unfinished.
    pub ended: EndedWork,
}

/// The result of recovering a damaged log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveredLog {
    /// The damaged log, which stays.
    pub from: PathBuf,
    /// Path of the recovered log.
    pub into: PathBuf,
    /// New path of the old log; `None` if there was no old log.
    pub moved: Option<PathBuf>,
    /// The saved rows.
    pub saved: SalvageReport,
}

/// A new log that waits for its name.
struct PreparedLog {
    copied_at: Option<Timestamp>,
    messages: u64,
    ended: EndedWork,
}

impl LogReplacement<'_> {
    /// Replaces the log by a copy. Blocks.
    ///
    /// # Errors
    /// [`CopyError::NotWhole`] if the file is not a whole log; the old log then stays in place.
    pub fn restore_copy(&self, from: &Path) -> Result<RestoredLog, CopyError> {
        let database = self.database_path();
        let not_whole =
            |detail: &str| CopyError::NotWhole { path: from.to_owned(), detail: detail.to_owned() };
        match (from.canonicalize(), database.canonicalize()) {
            (Err(error), _) if error.kind() == ErrorKind::NotFound => {
                return Err(not_whole("there is no such file"));
            }
            (Ok(from), Ok(database)) if from == database => {
                return Err(not_whole("it is the log in use"));
            }
            _ => {}
        }
        let source = open_verified(from)?;
        check_room(largest_copy_bytes(&source, from)?, &database)?;
        let new = with_suffix(&database, NEW);
        let prepared = self.prepare_log(&source, from, &new);
        if prepared.is_err() {
            remove_with_journal(&new);
        }
        let PreparedLog { copied_at, messages, ended } = prepared?;
        let moved = self.put_in_place(&new)?;
        Ok(RestoredLog { from: from.to_owned(), copied_at, moved, messages, ended })
    }

    /// Replaces the log by the readable rest of a damaged one. Default for `from`: the log that was
    /// moved aside last. Blocks.
    ///
    /// # Errors
    /// [`CopyError::NotWhole`] if all rows are unreadable; the old log then stays in place.
    pub fn recover_damaged(&self, from: Option<&Path>) -> Result<RecoveredLog, CopyError> {
        let database = self.database_path();
        let newest = || newest_damaged(&database).map_err(|error| unusable_path(&database, error));
        let from = match from {
            Some(from) => from.to_owned(),
            None => newest()?.ok_or_else(|| CopyError::NoneDamaged(self.directory.to_owned()))?,
        };
        let new = with_suffix(&database, NEW);
        let saved = self.salvage_rows(&from, &new)?;
        let moved = self.put_in_place(&new)?;
        Ok(RecoveredLog { from, into: database, moved, saved })
    }

    fn salvage_rows(&self, from: &Path, into: &Path) -> Result<SalvageReport, CopyError> {
        let database = self.database_path();
        let beside = crate::salvage::SalvageFacts {
            last: LastTransaction::read(&database),
            numbers: self.last_numbers(),
            redactor: self.redactor,
            now: self.now,
        };
        salvage_log(from, into, &beside)
    }

    fn prepare_log(
        &self,
        source: &Connection,
        from: &Path,
        new: &Path,
    ) -> Result<PreparedLog, CopyError> {
        write_copy(source, new)?;
        let sql = |error: rusqlite::Error| store_error(new, &error);
        let mut connection = Connection::open(new).map_err(sql)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(sql)?;
        let version = schema::version_below(&connection, new, schema::newest_version())?;
        if version < schema::newest_version() {
            migrate::bring_up(&mut connection, new, version, schema::MIGRATIONS)?;
        }
        let db = Db { connection: &connection, path: new };
        let copied_at: Option<i64> =
            db.query_one("SELECT copied_at FROM meta", (), |row| row.get("copied_at"))?;
        let copied_at = copied_at.map(Timestamp);
        let of = copied_at.map_or(String::new(), |at| format!(" of {}", format_date(at)));
        let last = LastTransaction::read(&self.database_path());
        let rolled_back = RolledBack {
            outcome: "restored",
            why: format!("it was restored from {}, a copy{of}", from.display()),
            for_chats: format!("it was restored from a copy{of}"),
            unsure_until: last.as_ref().map(unsure_until),
            epoch: self.last_epoch(last.as_ref()) + 1,
            numbers: self.last_numbers(),
        };
        let ended = roll_back(db, &rolled_back, self.redactor, self.now)?;
        let messages = db.query_one("SELECT count(*) FROM inbound", (), |row| row.get(0))?;
        Ok(PreparedLog { copied_at, messages, ended })
    }

    fn database_path(&self) -> PathBuf {
        self.directory.join(DATABASE)
    }

    /// Returns the last known epoch of the replaced log.
    fn last_epoch(&self, last: Option<&LastTransaction>) -> i64 {
        let pages = RawPages::open(&self.database_path()).ok();
        let meta = pages.and_then(|pages| DatabaseMeta::read(&pages)).map(|(meta, _)| meta.epoch);
        last.map(|last| last.epoch).max(meta).unwrap_or_default()
    }

    /// Returns the last readable row numbers of the replaced log, by table.
    fn last_numbers(&self) -> BTreeMap<String, i64> {
        let database = self.database_path();
        let aside = newest_damaged(&database).ok().flatten();
        let mut known = BTreeMap::new();
        let mut note = |table: String, number: i64| {
            let last = known.entry(table).or_default();
            *last = number.max(*last);
        };
        for path in [Some(database), aside].into_iter().flatten() {
            last_numbers(&path).into_iter().for_each(|(table, number)| note(table, number));
        }
        self.audit_head.into_iter().for_each(|head| note("audit".to_owned(), head));
        known
    }

    /// Moves the old log aside, and gives the new one its name.
    fn put_in_place(&self, new: &Path) -> Result<Option<PathBuf>, CopyError> {
        let database = self.database_path();
        let there = ["", "-wal", "-shm"].iter().any(|end| with_suffix(&database, end).exists());
        let moved = there.then(|| free_name(&database, REPLACED, self.now));
        if let Some(moved) = &moved {
            let found = "the command that replaces it did not finish; run it again";
            UndecidedDamage::new(found.to_owned(), Some(moved), self.now).write(&database)?;
            move_pieces(&database, moved)?;
        }
        let last = self.last_of(new)?;
        LastFile::begin_file(&database, last).map_err(|error| unusable_path(&database, error))?;
        put_in_place(new, &database)?;
        UndecidedDamage::remove_marker(&database)?;
        self.give_to_owner().map_err(|error| unusable_path(self.directory, error))?;
        Ok(moved)
    }

    /// Gives new files in the data directory to the owner of the directory. An operator runs the
    /// command as root, and the daemon runs as another user.
    fn give_to_owner(&self) -> io::Result<()> {
        let user = rustix::process::geteuid().as_raw();
        let owner = fs::metadata(self.directory)?;
        if user != 0 || owner.uid() == user {
            return Ok(());
        }
        for entry in fs::read_dir(self.directory)? {
            let entry = entry?;
            let found = entry.metadata()?;
            if found.is_file() && found.uid() == user {
                lchown(entry.path(), Some(owner.uid()), Some(owner.gid()))?;
            }
        }
        Ok(())
    }

    fn last_of(&self, new: &Path) -> Result<LastTransaction, CopyError> {
        let connection = open_unchanging(new)?;
        let db = Db { connection: &connection, path: new };
        let (at, boot) = (self.now, boot_id());
        let sql = format!("SELECT id, epoch, {POSITION} AS position FROM meta");
        let last = db.query_one(&sql, (), |row| {
            let position = row.get("position")?;
            let (id, epoch) = (row.get("id")?, row.get("epoch")?);
            let pages = PageState::Unchecked;
            Ok(LastTransaction { id, epoch, position, synced: position, at, boot, pages })
        })?;
        Ok(last)
    }
}

/// Copies the readable rest of a damaged log into a new file, and leaves all other files unchanged.
/// Blocks.
///
/// # Errors
/// [`CopyError::NotWhole`] if all rows are unreadable.
pub fn recover_into(
    from: &Path,
    into: &Path,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<RecoveredLog, CopyError> {
    if into.symlink_metadata().is_ok() {
        return Err(CopyError::Exists(into.to_owned()));
    }
    let part = with_suffix(into, PART);
    let given =
        crate::salvage::SalvageFacts { last: None, numbers: BTreeMap::new(), redactor, now };
    let saved = salvage_log(from, &part, &given)?;
    put_in_place(&part, into)?;
    Ok(RecoveredLog { from: from.to_owned(), into: into.to_owned(), moved: None, saved })
}

/// Opens a file that must be a whole log.
fn open_verified(path: &Path) -> Result<Connection, CopyError> {
    let not_whole = |detail: String| CopyError::NotWhole { path: path.to_owned(), detail };
    let beside =
        look_at_files(path).map_err(|error| unusable_path(path, error))?.map_err(not_whole)?;
    let connection = match beside {
        // This leaves no files beside the copy.
        WalState::Nothing => open_unchanging(path)?,
        WalState::Wal { broken: false } => read_only(path)?,
        WalState::Wal { broken: true } => {
            let detail = "a frame of its -wal cannot be read; use `avocet recover`";
            return Err(not_whole(detail.to_owned()));
        }
    };
    schema::version_below(&connection, path, schema::newest_version())?;
    match find_thoroughly(Db { connection: &connection, path })? {
        None => Ok(connection),
        Some(detail) => Err(not_whole(detail)),
    }
}
