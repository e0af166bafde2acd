//! What SQLite says, in the words of the port and of whoever has to act on it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use avocet_protocol::StoreError;
use rusqlite::ErrorCode;

/// The ways out of a damage.
const DECIDE: &str = "To save what it still holds: avocet recover. To go back to a copy: avocet restore FILE. To \
    begin with an empty log: avocet run --start-empty";

/// Why the log cannot be opened. The text says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the log.
    #[error("{path} is held by {holder}; stop it first, or use another data_dir")]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// Who, for example `process 4711 (daemon)`.
        holder: String,
    },
    /// The directory cannot be made or used.
    #[error("{path} cannot be used ({error}); check the path, its owner and its permissions")]
    Directory {
        /// The path.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A newer version has written it.
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
    /// An older version has written it, and whoever only looks changes nothing.
    #[error(
        "{path} was written by an older version (schema {found}, this one reads {known}); start the \
         daemon once, or again if it still runs, which brings the log up to date"
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: usize,
        /// The one that this version reads.
        known: usize,
    },
    /// It is damaged, and has been moved aside.
    #[error(
        "{path} is damaged ({detail}). It was moved to {moved} with its -wal and -shm; nothing was deleted. {DECIDE}"
    )]
    Damaged {
        /// Where it was.
        path: PathBuf,
        /// What the check said.
        detail: String,
        /// Where it is now.
        moved: PathBuf,
    },
    /// It was damaged before, or is gone, and nobody has decided what to do.
    #[error("there is no {path}: {found} (found: {at}). {left}. {DECIDE}")]
    Undecided {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong.
        found: String,
        /// When that was found.
        at: String,
        /// What is left of it.
        left: String,
    },
    /// The file system does not keep what it promises.
    #[error("{path}: SQLite did not take {pragma} (it is {found}); use a local file system")]
    Pragma {
        /// The database.
        path: PathBuf,
        /// What was asked.
        pragma: String,
        /// What it answered.
        found: String,
    },
    /// Anything else that the log says while it is opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A file or directory that the system does not let us use.
pub(crate) fn unusable(path: &Path, error: io::Error) -> OpenError {
    match error.kind() {
        ErrorKind::StorageFull => StoreError::Full { path: path.display().to_string() }.into(),
        _ => OpenError::Directory { path: path.to_owned(), error },
    }
}

/// Puts an SQLite error into the words of the port.
pub(crate) fn store_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.display().to_string();
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
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

/// Whether a row holds something that we never wrote there.
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
