//! Whole copies of the log: for `avocet backup`, for the daemon's own backups, and before a
//! migration.
//!
//! `VACUUM INTO` writes a copy of one moment of the log, including transactions that are only in
//! the `-wal`. The result is one file without deleted rows. The copy uses its own connection, so
//! that the writer goes on meanwhile; the `-wal` cannot restart until the copy is made.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, InterruptHandle, params};

use crate::connect::read_only;
use crate::error::{store_error, unusable_path};
use crate::files::{DATABASE, PART, make_private, put_in_place, remove_with_journal, with_suffix};
use crate::precheck::check_to_read;
use crate::tx::Db;
use crate::{OpenError, damage, schema};

/// Minimum free space that a copy leaves on its disk, in bytes.
const MARGIN: u64 = 16 * 1024 * 1024;

/// The reason why copying, restoring or recovering the log failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The directory contains no log.
    #[error("there is no log in {0}")]
    NoLog(PathBuf),
    /// No damaged log is known, so the caller must name one.
    #[error("no damaged log is known in {0}; name the file: avocet recover FILE")]
    NoneDamaged(PathBuf),
    /// A copy never overwrites a file.
    #[error("{0} exists already; name a file that does not")]
    Exists(PathBuf),
    /// The copy would fill the disk.
    #[error(
        "a copy in {path} needs {} MB with the room that stays free, and there are {} MB; free some space",
        needed / 1_000_000, free / 1_000_000
    )]
    NoRoom {
        /// Directory of the copy.
        path: PathBuf,
        /// Bytes that must be free.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The file is not a complete Avocet database.
    #[error("{path} is not a whole log: {detail}")]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// The fault found in the file.
        detail: String,
    },
    /// Cancelled because the daemon stops.
    #[error("it was cancelled")]
    Cancelled,
    /// Opening the log failed.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Open(error.into())
    }
}

/// A finished copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyDone {
    /// Size in bytes.
    pub bytes: u64,
    /// Number of messages in the copy.
    pub messages: u64,
}

/// Cancels a copy from another thread.
#[derive(Debug, Clone, Default)]
pub struct CancelCopy(Arc<Mutex<CancelState>>);

#[derive(Default)]
struct CancelState {
    cancelled: bool,
    handle: Option<InterruptHandle>,
}

impl std::fmt::Debug for CancelState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancelling").field("cancelled", &self.cancelled).finish_non_exhaustive()
    }
}

impl CancelCopy {
    /// Ends the copy with [`CopyError::Cancelled`], even if the copy begins later.
    pub fn cancel_copy(&self) {
        let mut state = self.0.lock();
        state.cancelled = true;
        if let Some(handle) = &state.handle {
            handle.interrupt();
        }
    }

    fn is_cancelled(&self) -> bool {
        self.0.lock().cancelled
    }

    fn watch_connection(&self, connection: &Connection) -> Result<(), CopyError> {
        let mut state = self.0.lock();
        state.handle = Some(connection.get_interrupt_handle());
        if state.cancelled { Err(CopyError::Cancelled) } else { Ok(()) }
    }
}

/// Copies the log of a data directory into a new file and checks the copy. A daemon may run
/// meanwhile. Blocks.
///
/// # Errors
/// [`CopyError`]; the partial copy is removed.
pub fn back_up(
    directory: &Path,
    to: &Path,
    now: Timestamp,
    cancel: &CancelCopy,
) -> Result<CopyDone, CopyError> {
    let database = directory.join(DATABASE);
    if !database.try_exists().map_err(|error| unusable_path(&database, error))? {
        damage::look_at_empty_place(&database)?;
        return Err(CopyError::NoLog(directory.to_owned()));
    }
    if to.symlink_metadata().is_ok() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    check_to_read(directory)?;
    let source = read_only(&database)?;
    cancel.watch_connection(&source)?;
    check_room(largest_copy_bytes(&source, &database)?, to)?;
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

fn copy_and_check(source: &Connection, part: &Path, now: Timestamp) -> Result<CopyDone, CopyError> {
    write_copy(source, part)?;
    let copy = Connection::open(part).map_err(|error| store_error(part, &error))?;
    let db = Db { connection: &copy, path: part };
    if schema::version_below(&copy, part, schema::newest_version())? == schema::newest_version() {
        let marked = copy.execute("UPDATE meta SET copied_at = ?1, in_use = 0", params![now.0]);
        marked.map_err(|error| store_error(part, &error))?;
    }
    if let Some(detail) = damage::find_thoroughly(db)? {
        return Err(CopyError::NotWhole { path: part.to_owned(), detail });
    }
    let messages = db.query_one("SELECT count(*) FROM inbound", (), |row| row.get(0))?;
    let bytes = fs::metadata(part).map_err(|error| unusable_path(part, error))?.len();
    Ok(CopyDone { bytes, messages })
}

/// Copies all that a connection sees into a new file readable by its owner only, and syncs the
/// file.
pub(crate) fn write_copy(source: &Connection, part: &Path) -> Result<(), OpenError> {
    make_private(part).map_err(|error| unusable_path(part, error))?;
    let name = part.to_str().ok_or_else(|| {
        unusable_path(part, std::io::Error::other("its name is not UTF-8; use another one"))
    })?;
    source.execute("VACUUM INTO ?1", [name]).map_err(|error| store_error(part, &error))?;
    File::open(part).and_then(|file| file.sync_all()).map_err(|error| unusable_path(part, error))
}

/// Returns the maximum size in bytes of a copy of this connection's database.
pub(crate) fn largest_copy_bytes(source: &Connection, path: &Path) -> Result<u64, StoreError> {
    let db = Db { connection: source, path };
    let pages: u64 = db.query_one("PRAGMA page_count", (), |row| row.get(0))?;
    let size: u64 = db.query_one("PRAGMA page_size", (), |row| row.get(0))?;
    Ok(pages.saturating_mul(size))
}

/// Fails if a file of this size could fill the disk.
pub(crate) fn check_room(bytes: u64, to: &Path) -> Result<(), CopyError> {
    let needed = bytes.saturating_add(MARGIN.max(bytes / 10));
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let found =
        rustix::fs::statvfs(directory).map_err(|error| unusable_path(directory, error.into()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    if free < needed {
        return Err(CopyError::NoRoom { path: directory.to_owned(), needed, free });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_room_refuses_a_copy_that_would_fill_the_disk() {
        let directory = tempfile::TempDir::new().unwrap();
        let to = directory.path().join("copy.db");
        check_room(1, &to).unwrap();
        let refused = check_room(u64::MAX / 2, &to).unwrap_err();
        assert!(matches!(refused, CopyError::NoRoom { .. }), "{refused}");
        assert!(refused.to_string().contains("free some space"), "{refused}");
    }
}
