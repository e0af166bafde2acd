//! Restores the changed paths of a conversation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use avocet_protocol::ignore_result;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{
    AtFlags, Timespec, Timestamps, UTIME_OMIT, XattrFlags, lremovexattr, lsetxattr, utimensat,
};
use rustix::io::Errno;

use super::index::{KeptIndex, KeptPath, copy_path};
use super::state::{PathState, TrustMarks};
use super::{KeepError, UndoneChanges, open_root_if_any};
use crate::attributes::{MARK, TREE, handle_of};

/// The name of a file while it is written, beside its place.
const TEMPORARY: &str = ".avocet-undo-tmp";

/// Restores all changed paths, as far as nobody else has changed them again.
pub(super) fn restore_changes(
    directory: &Path,
    index: &KeptIndex,
) -> Result<UndoneChanges, KeepError> {
    let mut undone = UndoneChanges::default();
    for root in index.roots() {
        let Some(opened) = open_root_if_any(&root)? else { continue };
        let mut changed: Vec<(&PathBuf, &KeptPath)> = Vec::new();
        for (path, kept) in index.paths_of_root(&root) {
            let Some(after) = &kept.after else { continue };
            let now = PathState::read(&opened, path, Some(after))?;
            // A crash may have come after a part of the work.
            if now.is_same(after) || now.is_same(&kept.before) {
                changed.push((path, kept));
            } else {
                undone.left.push(root.join(path));
            }
        }
        for (path, kept) in changed.iter().rev() {
            // A failure shows below, when the old entry is made.
            ignore_result(remove_changed(&opened, path, kept), "the old entry cannot be made then");
        }
        for (path, kept) in changed {
            let whole = root.join(path);
            let restored = restore_path(directory, &opened, path, &kept.before);
            match restored.and_then(|()| PathState::read(&opened, path, None)) {
                Ok(now) if now.is_same(&kept.before) => undone.restored.push(whole),
                // A new directory stays if others have put something into it.
                Ok(_) => undone.left.push(whole),
                Err(error) => undone.failed.push((whole, error.to_string())),
            }
        }
    }
    Ok(undone)
}

/// Removes an entry that is of another kind than before, or new.
fn remove_changed(root: &Dir, path: &Path, kept: &KeptPath) -> io::Result<()> {
    let now = root.symlink_metadata(path)?;
    let was_directory = matches!(kept.before, PathState::Directory { .. });
    match (now.is_dir(), was_directory) {
        (true, true) => Ok(()),
        // Only an empty one: what others have put there stays.
        (true, false) => root.remove_dir(path),
        (false, _) if matches!(kept.before, PathState::File { .. }) && now.is_file() => Ok(()),
        (false, _) => root.remove_file(path),
    }
}

fn restore_path(
    directory: &Path,
    root: &Dir,
    path: &Path,
    before: &PathState,
) -> Result<(), KeepError> {
    match before {
        PathState::Absent => {}
        PathState::Directory { mode, marks } => {
            if root.symlink_metadata(path).is_err() {
                root.create_dir(path)?;
            }
            root.set_permissions(path, Permissions::from_mode(*mode))?;
            set_marks(root, path, marks)?;
        }
        PathState::Link { target } => root.symlink_contents(target, path)?,
        PathState::File { mode, marks, stamp, copy, .. } => {
            let Some(number) = copy else { return Ok(()) };
            let mut name = path.as_os_str().to_owned();
            name.push(TEMPORARY);
            let temporary = Path::new(&name);
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = root.open_with(temporary, &options)?;
            io::copy(&mut fs::File::open(copy_path(directory, *number))?, &mut file)?;
            set_marks(root, temporary, marks)?;
            file.set_permissions(Permissions::from_mode(*mode))?;
            let (seconds, nanoseconds) = stamp.modified;
            let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
            let last_modification = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
            let times = Timestamps { last_access, last_modification };
            utimensat(root, temporary, &times, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(io::Error::from)?;
            file.sync_all()?;
            root.rename(temporary, root, path)?;
        }
    }
    Ok(())
}

/// Sets the marks of trust of an entry as they were.
fn set_marks(root: &Dir, path: &Path, marks: &TrustMarks) -> io::Result<()> {
    let place = handle_of(root).join(path);
    for (name, value) in [(MARK, &marks.mark), (TREE, &marks.tree)] {
        let set = match value {
            Some(value) => lsetxattr(&place, name, value, XattrFlags::empty()),
            None => lremovexattr(&place, name),
        };
        match set {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
