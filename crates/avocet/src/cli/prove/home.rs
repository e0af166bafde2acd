//! The throw-away home, and the copies of workspaces in it.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_protocol::clock::Clock;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use crate::configuration::Configuration;
use crate::environment::read_variable;

/// The most files, and the most bytes, of the copy of a workspace.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;
/// The largest copied file, in bytes.
const LARGEST_FILE: u64 = 16 << 20;
/// The attributes in which files keep their trust.
const MARKS: [&str; 2] = ["user.avocet.trust", "user.avocet.tree"];
/// Tries to remove the home. A task that ends may still write a file.
const REMOVALS: usize = 10;
const BETWEEN: Duration = Duration::from_millis(200);

/// A directory that only this user can enter. It is removed at the end.
#[derive(Debug)]
pub(super) struct ThrowAwayHome {
    path: PathBuf,
    pub(super) keeps_marks: bool,
}

impl ThrowAwayHome {
    /// Makes the directory in a place whose file system keeps the marks of files, if there is one.
    pub(super) fn create(configuration: &Configuration) -> io::Result<Self> {
        let temporary = read_variable("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
        let first = Self::create_in(&temporary)?;
        if first.keeps_marks {
            return Ok(first);
        }
        let beside = configuration.data_dir.parent().filter(|parent| parent.is_dir());
        match beside.map(Self::create_in) {
            Some(Ok(other)) if other.keeps_marks => Ok(other),
            _ => Ok(first),
        }
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        let name = uuid::Uuid::new_v4().simple().to_string();
        let path = parent.canonicalize()?.join(format!("avocet-prove-{}", &name[..12]));
        DirBuilder::new().mode(0o700).create(&path)?;
        let probe = File::open(&path)?;
        let keeps_marks = fsetxattr(&probe, "user.avocet.probe", b"1", XattrFlags::empty()).is_ok();
        Ok(Self { path, keeps_marks })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with everything in it.
    pub(super) async fn remove(self, clock: &dyn Clock) -> io::Result<()> {
        for _ in 1..REMOVALS {
            if remove_tree(&self.path).is_ok() {
                return Ok(());
            }
            clock.sleep(BETWEEN).await;
        }
        remove_tree(&self.path)
    }
}

impl Drop for ThrowAwayHome {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the throw-away home");
        }
    }
}

fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The copy of a workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WorkspaceCopy {
    files: usize,
    bytes: u64,
    /// Symbolic links, devices and the like.
    links: usize,
    /// Files that are too large, or too many.
    left_out: usize,
    unreadable: usize,
}

impl WorkspaceCopy {
    /// Describes what the copy leaves out; `None` if it is whole.
    pub(super) fn describe_rest(&self, workspace: &Path) -> Option<String> {
        let Self { links, left_out, unreadable, .. } = self;
        let parts = [
            (*links, "symbolic links and special files"),
            (
                *left_out,
                "files above the limits of 16 MiB each, and 256 MiB or 20,000 files together",
            ),
            (*unreadable, "files that cannot be read"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let workspace = workspace.display();
        (!parts.is_empty()).then(|| format!("{workspace}: the copy lacks {}", parts.join(", ")))
    }
}

/// Copies a workspace with the marks of its files. Directories near the root come first. Links are not
/// followed, and the directories in `without` are left out.
pub(super) fn copy_workspace(
    from: &Path,
    to: &Path,
    without: &[PathBuf],
) -> io::Result<WorkspaceCopy> {
    let mut copy = WorkspaceCopy::default();
    make_directory(to)?;
    let mut open = std::collections::VecDeque::from([PathBuf::new()]);
    while let Some(below) = open.pop_front() {
        let Ok(entries) = fs::read_dir(from.join(&below)) else {
            copy.unreadable += 1;
            continue;
        };
        for entry in entries.flatten() {
            let below = below.join(entry.file_name());
            let (source, target) = (from.join(&below), to.join(&below));
            let Ok(metadata) = fs::symlink_metadata(&source) else { continue };
            if without.iter().any(|path| source.starts_with(path)) {
                continue;
            }
            if metadata.is_dir() {
                make_directory(&target)?;
                copy_marks(&source, &target);
                open.push_back(below);
            } else if !metadata.is_file() {
                copy.links += 1;
            } else if metadata.len() > LARGEST_FILE
                || copy.files >= MOST_FILES
                || copy.bytes + metadata.len() > MOST_BYTES
            {
                copy.left_out += 1;
            } else if copy_file(&source, &target).is_err() {
                copy.unreadable += 1;
            } else {
                copy.files += 1;
                copy.bytes += metadata.len();
            }
        }
    }
    Ok(copy)
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    fs::copy(source, target)?;
    // The mark of a file without write permission could not be set.
    let mode = fs::metadata(target)?.permissions().mode();
    fs::set_permissions(target, Permissions::from_mode(mode | 0o600))?;
    copy_marks(source, target);
    Ok(())
}

fn copy_marks(source: &Path, target: &Path) {
    let (Ok(source), Ok(target)) = (File::open(source), File::open(target)) else { return };
    for name in MARKS {
        let mut value = [0_u8; 64];
        let Ok(length) = fgetxattr(&source, OsStr::new(name), &mut value[..]) else { continue };
        if let Err(error) =
            fsetxattr(&target, OsStr::new(name), &value[..length], XattrFlags::empty())
        {
            tracing::debug!(%error, name, "the copy of a file has no mark");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_workspace_follows_no_link_and_leaves_large_files_out() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        fs::create_dir_all(from.join("a/own")).unwrap();
        fs::write(from.join("a/text.md"), "text").unwrap();
        fs::write(from.join("a/own/log.db"), "log").unwrap();
        File::create(from.join("large")).unwrap().set_len(LARGEST_FILE + 1).unwrap();
        std::os::unix::fs::symlink("/etc", from.join("link")).unwrap();
        let copied = copy_workspace(&from, &to, &[from.join("a/own")]).unwrap();
        let expected = WorkspaceCopy { files: 1, bytes: 4, links: 1, left_out: 1, unreadable: 0 };
        assert_eq!(copied, expected);
        assert_eq!(fs::read_to_string(to.join("a/text.md")).unwrap(), "text");
        assert!(!to.join("link").exists() && !to.join("a/own").exists());
        assert!(copied.describe_rest(&from).unwrap().contains("1 symbolic links"));
    }
}
