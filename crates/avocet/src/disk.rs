//! The disk that holds the data.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use avocet_protocol::daemon::{DiskStatus, LastExchanges};
use avocet_store::is_on_read_only_disk;

/// With fewer free bytes, the next writes fail.
const FULL: u64 = 1024 * 1024;

/// Returns the bytes that this user can still write at a path; `None` if the system does not say.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|path| path.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    let blocks = if rustix::process::geteuid().is_root() { found.f_bfree } else { found.f_bavail };
    Some(blocks.saturating_mul(found.f_frsize))
}

/// Returns `true` if there is room for a few pages at most.
pub(crate) fn is_full(path: &Path) -> bool {
    free_bytes(path).is_some_and(|free| free < FULL)
}

/// Returns `true` if the next write to the log fails whatever it writes.
pub(crate) fn refuses_writes(data_dir: &Path) -> bool {
    is_full(data_dir) || is_on_read_only_disk(data_dir)
}

/// Returns the state of the disk, by its free space, its mount and the last writes of the log.
pub(crate) fn disk_status(data_dir: &Path, writes: LastExchanges) -> DiskStatus {
    let free_bytes = free_bytes(data_dir);
    let failing = writes.failure.as_ref().filter(|failure| failure.in_a_row > 0);
    let disk = format!("the disk that holds {}", data_dir.display());
    let fault = match failing {
        Some(failure) => Some(failure.reason.clone()),
        None if is_on_read_only_disk(data_dir) => {
            Some(format!("{disk} is read-only; make it writable"))
        }
        None => is_full(data_dir).then(|| format!("{disk} is full; free some space")),
    };
    DiskStatus { free_bytes, fault, writes }
}

/// Replaces a file atomically, and makes its directory. Only this user can read it.
pub(crate) fn replace_file(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut written = options.open(&new)?;
    written.write_all(content)?;
    written.sync_all()?;
    fs::rename(&new, file)
}

/// Writes a file into a directory, waits until it is on disk, and removes it. Returns `false` if
/// the directory is missing.
pub(crate) fn try_write(directory: &Path) -> io::Result<bool> {
    if !directory.try_exists()? {
        return Ok(false);
    }
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    let write = || {
        let mut file = File::create_new(&path)?;
        file.write_all(&[b'x'; 4096])?;
        file.sync_all()
    };
    let written = write();
    let removed = fs::remove_file(&path);
    written.and(removed).map(|()| true)
}

/// Formats a number of bytes in a readable unit.
pub(crate) fn format_bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let (mut count, mut unit) = (count / 1000, UNITS[0]);
    for next in &UNITS[1..] {
        if count < 1000 {
            break;
        }
        (count, unit) = (count / 1000, *next);
    }
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use avocet_protocol::clock::Timestamp;

    use super::*;

    #[test]
    fn bytes_uses_the_unit_that_fits() {
        let table =
            [(0, "0 KB"), (2_097_152, "2 MB"), (999_999_999, "999 MB"), (5_100_000_000, "5 GB")];
        for (count, expected) in table {
            assert_eq!(format_bytes(count), expected);
        }
    }

    #[test]
    fn try_write_leaves_nothing_behind_and_needs_the_directory() {
        let directory = tempfile::TempDir::new().unwrap();
        assert!(try_write(directory.path()).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(!try_write(&directory.path().join("none")).unwrap());
        assert!(try_write(Path::new("/proc")).is_err());
    }

    #[test]
    fn status_has_a_fault_while_writes_fail() {
        let mut writes = LastExchanges::default();
        let here = Path::new("/");
        assert_eq!(disk_status(here, writes.clone()).fault, None);
        writes.fail(Timestamp(1), "it is full");
        assert_eq!(disk_status(here, writes.clone()).fault, Some("it is full".to_owned()));
        writes.succeed(Timestamp(2));
        assert_eq!(disk_status(here, writes).fault, None);
    }
}
