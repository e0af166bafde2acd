//! Whole copies of the log: `avocet backup`, the copies that a daemon makes, and the one before a migration.
//!
//! `VACUUM INTO` writes them: from one moment of the log, with what is only in its -wal, in one pass, without
//! what was deleted, and into a file that needs no -wal. It reads on a connection of its own, so that the writer
//! goes on meanwhile; only the -wal cannot begin anew before the copy is made.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use avocet_protocol::{StoreError, Timestamp};
use rusqlite::{Connection, InterruptHandle, OpenFlags, params};

use crate::error::{store_error, unusable};
use crate::migrate::{self, make_private, put_in_place, with_suffix};
use crate::open::{check_to_read, read_only};
use crate::tx::Db;
use crate::{DATABASE, OpenError, damage};

/// The ending of a copy that is not complete.
pub(crate) const PART: &str = ".part";

/// Room that a copy leaves on its disk, at least.
const MARGIN: u64 = 16 * 1024 * 1024;

/// Why a copy of the log was not made, or was not put in its place.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is nothing to be copied.
    #[error("there is no log in {0}")]
    NoLog(PathBuf),
    /// There is nothing to be recovered.
    #[error("no damaged log is known in {0}; name the file: avocet recover FILE")]
    NoneDamaged(PathBuf),
    /// A copy never overwrites anything.
    #[error("{0} exists already; name a file that does not")]
    Exists(PathBuf),
    /// The copy would fill the disk.
    #[error(
        "a copy in {path} needs {} MB with the room that stays free, and there are {} MB; free some space",
        needed / 1_000_000, free / 1_000_000
    )]
    NoRoom {
        /// Where it would be.
        path: PathBuf,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
    },
    /// It is no whole database of ours.
    #[error("{path} is not a whole log: {detail}")]
    NotWhole {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// It was cancelled because the daemon stops.
    #[error("it was cancelled")]
    Cancelled,
    /// As when the log is opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Open(error.into())
    }
}

/// A copy that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Its length.
    pub bytes: u64,
    /// Messages in it.
    pub messages: u64,
}

/// Ends a copy that is being made on another thread.
#[derive(Debug, Clone, Default)]
pub struct CancelCopy(Arc<Mutex<Cancelling>>);

#[derive(Default)]
struct Cancelling {
    cancelled: bool,
    handle: Option<InterruptHandle>,
}

impl std::fmt::Debug for Cancelling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancelling").field("cancelled", &self.cancelled).finish_non_exhaustive()
    }
}

impl CancelCopy {
    /// Ends the copy with [`CopyError::Cancelled`], also one that has not begun.
    pub fn cancel(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.cancelled = true;
        if let Some(handle) = &state.handle {
            handle.interrupt();
        }
    }

    fn is_cancelled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancelled
    }

    fn watch(&self, connection: &Connection) -> Result<(), CopyError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.handle = Some(connection.get_interrupt_handle());
        if state.cancelled { Err(CopyError::Cancelled) } else { Ok(()) }
    }
}

/// Copies the log of a data directory into a new file, whether or not a daemon runs, and checks the copy. Blocks.
///
/// # Errors
/// [`CopyError`]; nothing is left of the copy then.
pub fn back_up(
    directory: &Path,
    to: &Path,
    now: Timestamp,
    cancel: &CancelCopy,
) -> Result<Copied, CopyError> {
    let database = directory.join(DATABASE);
    if !database.try_exists().map_err(|error| unusable(&database, error))? {
        damage::look_at_empty_place(&database)?;
        return Err(CopyError::NoLog(directory.to_owned()));
    }
    if to.symlink_metadata().is_ok() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    check_to_read(directory)?;
    let source = read_only(&database)?;
    cancel.watch(&source)?;
    check_room(length(&source, &database)?, to)?;
    let part = with_suffix(to, PART);
    let made = copy_and_check(&source, &part, now);
    if made.is_err() {
        remove_with_journal(&part);
    }
    match made {
        Err(_) if cancel.is_cancelled() => Err(CopyError::Cancelled),
        Err(error) => Err(error),
        Ok(copied) => {
            put_in_place(&part, to)?;
            Ok(copied)
        }
    }
}

fn copy_and_check(source: &Connection, part: &Path, now: Timestamp) -> Result<Copied, CopyError> {
    write_copy(source, part)?;
    let copy = Connection::open(part).map_err(|error| store_error(part, &error))?;
    let db = Db { connection: &copy, path: part };
    if migrate::version_below(&copy, part, migrate::newest())? == migrate::newest() {
        let marked = copy.execute("UPDATE meta SET copied_at = ?1, in_use = 0", params![now.0]);
        marked.map_err(|error| store_error(part, &error))?;
    }
    if let Some(detail) = damage::find_thoroughly(db)? {
        return Err(CopyError::NotWhole { path: part.to_owned(), detail });
    }
    let messages = db.one("SELECT count(*) FROM inbound", (), |row| row.get(0))?;
    let bytes = fs::metadata(part).map_err(|error| unusable(part, error))?.len();
    Ok(Copied { bytes, messages })
}

/// Copies everything that a connection sees into a new file of its owner's alone, and has the disk take it.
pub(crate) fn write_copy(source: &Connection, part: &Path) -> Result<(), OpenError> {
    make_private(part).map_err(|error| unusable(part, error))?;
    let name = part.to_str().ok_or_else(|| {
        unusable(part, std::io::Error::other("its name is not UTF-8; use another one"))
    })?;
    source.execute("VACUUM INTO ?1", [name]).map_err(|error| store_error(part, &error))?;
    File::open(part).and_then(|file| file.sync_all()).map_err(|error| unusable(part, error))
}

/// Removes what is left of a database that was not completed. What cannot be removed is overwritten the next time.
pub(crate) fn remove_with_journal(path: &Path) {
    for suffix in ["", "-journal"] {
        fs::remove_file(with_suffix(path, suffix)).unwrap_or_default();
    }
}

/// Bytes that a copy of what a connection sees has at most.
pub(crate) fn length(source: &Connection, path: &Path) -> Result<u64, StoreError> {
    let db = Db { connection: source, path };
    let pages: u64 = db.one("PRAGMA page_count", (), |row| row.get(0))?;
    let size: u64 = db.one("PRAGMA page_size", (), |row| row.get(0))?;
    Ok(pages.saturating_mul(size))
}

/// Refuses a file of so many bytes that could fill the disk.
pub(crate) fn check_room(bytes: u64, to: &Path) -> Result<(), CopyError> {
    let needed = bytes.saturating_add(MARGIN.max(bytes / 10));
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let found =
        rustix::fs::statvfs(directory).map_err(|error| unusable(directory, error.into()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    if free < needed {
        return Err(CopyError::NoRoom { path: directory.to_owned(), needed, free });
    }
    Ok(())
}

/// Opens a database that nobody writes, without leaving anything beside it.
pub(crate) fn open_unchanging(path: &Path) -> Result<Connection, StoreError> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let encoded: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let opened = Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags);
    opened.map_err(|error| store_error(path, &error))
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
