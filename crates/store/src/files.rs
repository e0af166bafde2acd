//! The names of the database's files, and changes to files that survive a power failure.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use avocet_protocol::ignore_result;

use crate::OpenError;
use crate::error::unusable_path;

/// The database's file name inside the data directory.
pub const DATABASE: &str = "avocet.db";

/// File name suffix of an incomplete database.
pub(crate) const NEW: &str = ".new";

/// File name suffix of an incomplete copy.
pub(crate) const PART: &str = ".part";

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Creates an empty file readable by its owner only, because it will contain what people write.
/// Replaces an existing file. SQLite gives its `-wal` and `-shm` the same permissions.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path).map(drop)
}

/// Syncs a complete file, gives it its name, and syncs the directory.
pub(crate) fn put_in_place(new: &Path, path: &Path) -> Result<(), OpenError> {
    let put = || {
        File::open(new)?.sync_all()?;
        fs::rename(new, path)
    };
    put().map_err(|error| unusable_path(new, error))?;
    sync_directory(path)
}

/// Syncs the directory of a file, so that its names survive a power failure.
pub(crate) fn sync_directory(file: &Path) -> Result<(), OpenError> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| unusable_path(directory, error))
}

/// Removes an incomplete database.
pub(crate) fn remove_with_journal(path: &Path) {
    for suffix in ["", "-journal"] {
        ignore_result(
            fs::remove_file(with_suffix(path, suffix)),
            "the next attempt overwrites remaining files",
        );
    }
}
