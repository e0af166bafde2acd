//! Translates SQLite errors into `StoreError`, and defines the errors of opening the log.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use avocet_protocol::store::StoreError;
use rusqlite::ErrorCode;
use rustix::fs::StatVfsMountFlags;

/// Commands that end the state of damage.
const DECIDE: &str = "To save what it still holds: avocet recover. To go back to a copy: avocet restore FILE. To \
    begin with an empty log: avocet run --start-empty";

/// The reason why the log cannot be opened. Its text tells the operator how to solve the problem.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the log.
    #[error("{path} is in use by {holder}; stop it first, or use another data_dir")]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// The holder, for example `process 4711 (daemon)`.
        holder: String,
    },
    /// The directory cannot be created or used.
    #[error("{path} cannot be used ({error}); check the path, its owner and its permissions")]
    Directory {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A newer version wrote the database.
    #[error(
        "{path} was written by a newer version (schema {found}, this one knows {known}); \
         install that version, or put back the copy {path}.before-v{found} if there is one, and \
         remove {path}-wal and {path}-shm, which do not belong to it"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that this version knows.
        known: i64,
    },
    /// An older version wrote the database, and this caller only reads.
    #[error(
        "{path} was written by an older version (schema {found}, this one reads {known}); start the \
         daemon once, or again if it still runs, which brings the log up to date"
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: usize,
        /// The version that this program reads.
        known: usize,
    },
    /// The database is damaged and was moved aside.
    #[error(
        "{path} is damaged ({detail}). It was moved to {moved} with its -wal and -shm; nothing was deleted. {DECIDE}"
    )]
    Damaged {
        /// Its path before the move.
        path: PathBuf,
        /// The fault that the check found.
        detail: String,
        /// Its path after the move.
        moved: PathBuf,
    },
    /// The database was damaged before or is missing, and a person has to decide first.
    #[error("there is no {path}: {found} (found: {at}). {left}. {DECIDE}")]
    Undecided {
        /// Expected path of the database.
        path: PathBuf,
        /// The fault.
        found: String,
        /// Time of discovery.
        at: String,
        /// The remaining file, as a sentence.
        left: String,
    },
    /// SQLite rejected a setting, for example on a network file system.
    #[error("{path}: SQLite did not accept {pragma} (it is {found}); use a local file system")]
    Pragma {
        /// The database.
        path: PathBuf,
        /// Name and value, as they were set.
        pragma: String,
        /// Its value as read back.
        found: String,
    },
    /// Any other store error during opening.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the error for a file or directory that the system refuses. A full disk and a read-only
/// one get their own errors.
pub(crate) fn unusable_path(path: &Path, error: io::Error) -> OpenError {
    let shown = || path.display().to_string();
    match error.kind() {
        ErrorKind::StorageFull => StoreError::Full { path: shown() }.into(),
        ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path: shown() }.into(),
        _ => OpenError::Directory { path: path.to_owned(), error },
    }
}

/// Translates an SQLite error into an error of the store ports.
pub(crate) fn store_error(database: &Path, error: &rusqlite::Error) -> StoreError {
    let path = database.display().to_string();
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            if is_on_read_only_disk(database) =>
        {
            StoreError::ReadOnly { path }
        }
        _ if is_too_short(error) => StoreError::Damaged { path, detail },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { path, detail }
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory,
        ) => StoreError::Unavailable { path, detail },
        _ if is_unreadable(error) => StoreError::Damaged { path, detail },
        _ => StoreError::Internal(detail),
    }
}

/// Returns `true` if the disk of a file is mounted read-only. SQLite's errors do not say so: a write
/// on such a disk is an I/O error like others.
#[must_use]
pub fn is_on_read_only_disk(path: &Path) -> bool {
    let found = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok());
    found.is_some_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Returns `true` if a file ends before a page that SQLite reads. The disk works, and a part of the
/// file is missing.
fn is_too_short(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
}

/// Returns `true` if a row holds a value that this program never writes.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    )
}
