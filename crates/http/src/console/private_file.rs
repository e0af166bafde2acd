//! Small files that only the daemon's user reads.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file with mode 0600, in place of an earlier one. A crash leaves the whole old file or
/// the whole new one.
pub(super) fn write_private_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = file.with_added_extension("tmp");
    drop(fs::remove_file(&temporary));
    let mut options = OpenOptions::new();
    let written = options.write(true).create_new(true).mode(0o600).open(&temporary);
    let written = written.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, file)).inspect_err(|_| {
        // Frees the space if the disk is full.
        drop(fs::remove_file(&temporary));
    })
}
