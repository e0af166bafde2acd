//! Replaces a file as a whole, or not at all.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use avocet_protocol::ignore_result;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};

/// The ending of the names of temporary files.
const TEMPORARY: &str = ".avocet-tmp";

/// The mode bits that a file keeps with new content. The others would let it run as another user.
const KEPT: u32 = 0o777;
/// The mode until the file is complete and has the right one: the old file may have been private.
const PRIVATE: u32 = 0o600;
/// The mode of a new file, before the process's umask.
const NEW: u32 = 0o666;

/// Writes a temporary file beside the target, syncs it to the disk and renames it. The new file has
/// these permissions, or those of a new file. `mark` can set attributes of it.
pub(crate) fn replace_file(
    parent: &Dir,
    name: &Path,
    bytes: &[u8],
    permissions: Option<Permissions>,
    mark: impl Fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let prefix = format!(".{}.", name.display());
    let own = format!("{prefix}{}-", std::process::id());
    remove_left_over(parent, &prefix, &own);
    let temporary = format!("{own}{}{TEMPORARY}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let written = (|| {
        let mut options = OpenOptions::new();
        let mode = if permissions.is_some() { PRIVATE } else { NEW };
        options.write(true).create_new(true).mode(mode);
        let mut file = parent.open_with(&temporary, &options)?;
        mark(&file)?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(Permissions::from_mode(permissions.mode() & KEPT))?;
        }
        file.sync_all()?;
        parent.rename(&temporary, parent, name)
    })();
    if written.is_err() {
        ignore_result(
            parent.remove_file(&temporary),
            "a write of a later process removes the file",
        );
    }
    written?;
    parent.open(".")?.sync_all()
}

/// Removes temporary files of the same target that a dead process has left.
fn remove_left_over(parent: &Dir, prefix: &str, own: &str) {
    for entry in parent.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_temporary(&name, prefix) && !name.starts_with(own) {
            ignore_result(parent.remove_file(&*name), "the next write tries again");
        }
    }
}

/// Returns `true` if a name is the prefix, two numbers (process and write), and the ending of
/// temporary files. The numbers matter because the files of `main.rs` and of `main` begin alike.
fn is_temporary(name: &str, prefix: &str) -> bool {
    let numbers = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(TEMPORARY));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(process, write)| is_number(process) && is_number(write))
}
