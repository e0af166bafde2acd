//! Checks of the files before SQLite opens them.

use std::io;
use std::path::Path;

use avocet_protocol::store::StoreError;

use crate::OpenError;
use crate::binding::{WalState, examine_wal};
use crate::damage::find_in_header;
use crate::error::unusable_path;
use crate::files::DATABASE;
use crate::lock::DirectoryLock;

/// Refuses a log that a start would move aside. Ignores faults while a daemon holds the lock,
/// because the daemon may be writing the `-wal` at that moment.
pub(crate) fn check_to_read(directory: &Path) -> Result<WalState, OpenError> {
    let path = directory.join(DATABASE);
    let found = look_at_files(&path).map_err(|error| unusable_path(&path, error))?;
    match found {
        Ok(beside) => Ok(beside),
        Err(_) if DirectoryLock::is_held(directory) => Ok(WalState::Wal { broken: false }),
        Err(detail) => Err(StoreError::Damaged { path: path.display().to_string(), detail }.into()),
    }
}

/// Checks the files without SQLite. Returns the state of the `-wal`, or the fault as inner error.
pub(crate) fn look_at_files(path: &Path) -> io::Result<Result<WalState, String>> {
    match find_in_header(path)? {
        Some(detail) => Ok(Err(detail.to_owned())),
        None => examine_wal(path),
    }
}
