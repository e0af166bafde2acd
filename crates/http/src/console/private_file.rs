//! Small files that only the daemon's user reads.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use avocet_protocol::ignore_result;

/// Writes a file with mode 0600, in place of an earlier one. A crash leaves the whole old file or
/// the whole new one.
pub(super) fn write_private_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = file.with_added_extension("tmp");
    ignore_result(
        fs::remove_file(&temporary),
        "usually there is none; one that stays fails the write below",
    );
    let mut options = OpenOptions::new();
    let written = options.write(true).create_new(true).mode(0o600).open(&temporary);
    let written = written.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, file)).inspect_err(|_| {
        ignore_result(
            fs::remove_file(&temporary),
            "this frees the space on a full disk; the caller gets the first error",
        );
    })
}
