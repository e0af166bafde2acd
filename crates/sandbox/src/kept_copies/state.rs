//! The state of one path: everything that undoing has to restore.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use avocet_text::in_hexadecimal;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, PermissionsExt};
use rustix::fs::{OFlags, lgetxattr};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{KeepError, MOST_ENTRIES, ShownState};
use crate::attributes::{MARK, TREE, handle_of};

/// Bytes of a file whose text is shown to a person.
const MOST_SHOWN: u64 = 256 * 1024;
/// Characters of a digest that are shown.
const SHOWN_DIGEST: usize = 16;

/// The state of a path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum PathState {
    Absent,
    Directory {
        mode: u32,
        marks: TrustMarks,
    },
    Link {
        target: PathBuf,
    },
    File {
        mode: u32,
        marks: TrustMarks,
        bytes: u64,
        stamp: ChangeStamp,
        /// SHA-256 in hexadecimal.
        digest: String,
        /// The number of the copy.
        copy: Option<u64>,
    },
}

/// Changes with each change of a file. No program can set the time of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangeStamp {
    inode: u64,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    changed: (i64, i64),
}

/// The attributes that hold the trust of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrustMarks {
    pub(super) mark: Option<Vec<u8>>,
    pub(super) tree: Option<Vec<u8>>,
}

impl PathState {
    /// Reads the state of a path. If the stamp of a file is that of the `known` state, the file is not
    /// read again.
    pub(super) fn read(root: &Dir, path: &Path, known: Option<&Self>) -> Result<Self, KeepError> {
        let found = match root.symlink_metadata(path) {
            Ok(found) => found,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Self::Absent);
            }
            Err(error) => return Err(error.into()),
        };
        let (mode, marks) = (found.permissions().mode() & 0o7777, TrustMarks::read(root, path));
        if found.is_symlink() {
            return Ok(Self::Link { target: root.read_link_contents(path)? });
        }
        if found.is_dir() {
            return Ok(Self::Directory { mode, marks });
        }
        if !found.is_file() {
            return Err(KeepError::Special(path.to_owned()));
        }
        let (bytes, stamp) = (found.len(), ChangeStamp::of_file(&found));
        let (digest, copy) = match known {
            Some(Self::File { stamp: known, digest, copy, .. }) if *known == stamp => {
                (digest.clone(), *copy)
            }
            _ => (digest_file(root, path)?, None),
        };
        Ok(Self::File { mode, marks, bytes, stamp, digest, copy })
    }

    /// Returns `true` if a person would see no difference. Marks and times do not count.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Directory { mode, .. }, Self::Directory { mode: other, .. }) => mode == other,
            (Self::Link { target }, Self::Link { target: other }) => target == other,
            (
                Self::File { mode, digest, .. },
                Self::File { mode: other_mode, digest: other, .. },
            ) => mode == other_mode && digest == other,
            _ => false,
        }
    }

    /// Returns the state for a person. `read` gets the number of the copy, if there is one.
    pub(super) fn show_state(
        &self,
        read: impl FnOnce(u64) -> io::Result<Option<String>>,
    ) -> io::Result<ShownState> {
        Ok(match self {
            Self::Absent => ShownState::Absent,
            Self::Directory { .. } => ShownState::Directory,
            Self::Link { target } => ShownState::Link(target.display().to_string()),
            Self::File { bytes, digest, copy, .. } => {
                let small = *bytes <= MOST_SHOWN;
                let text = if small { read(copy.unwrap_or_default())? } else { None };
                let digest = digest.chars().take(SHOWN_DIGEST).collect();
                text.map_or(ShownState::Bytes(*bytes, digest), ShownState::Text)
            }
        })
    }
}

impl ChangeStamp {
    fn of_file(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

impl TrustMarks {
    fn read(root: &Dir, path: &Path) -> Self {
        let place = handle_of(root).join(path);
        let value = |name: &str| {
            let mut value = [0; 16];
            let length = lgetxattr(&place, name, &mut value[..]).ok()?;
            Some(value.get(..length)?.to_vec())
        };
        Self { mark: value(MARK), tree: value(TREE) }
    }
}

/// Lists a directory and everything below it, without the paths in `own`. Links are not followed. `at`
/// is the absolute path of the root.
pub(super) fn list_below(
    root: &Dir,
    at: &Path,
    tree: &Path,
    own: &[PathBuf],
) -> Result<BTreeSet<PathBuf>, KeepError> {
    let mut found = BTreeSet::new();
    let is_root = tree.as_os_str().is_empty();
    match root.symlink_metadata(if is_root { Path::new(".") } else { tree }) {
        Ok(entry) if entry.is_dir() => {}
        Ok(_) => return Ok([tree.to_owned()].into()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error.into()),
    }
    found.extend((!is_root).then(|| tree.to_owned()));
    let mut open = vec![tree.to_owned()];
    while let Some(directory) = open.pop() {
        let place =
            if directory.as_os_str().is_empty() { Path::new(".") } else { directory.as_path() };
        for entry in root.read_dir(place)? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if own.contains(&at.join(&path)) {
                continue;
            }
            if path.to_str().is_none() {
                return Err(KeepError::Special(path));
            }
            if entry.file_type()?.is_dir() {
                open.push(path.clone());
            }
            found.insert(path);
            if found.len() > MOST_ENTRIES {
                return Err(KeepError::TooMany);
            }
        }
    }
    Ok(found)
}

/// Copies a file, and returns its digest.
pub(super) fn copy_file(root: &Dir, path: &Path, mut target: File) -> io::Result<String> {
    read_file(root, path, |bytes| target.write_all(bytes))
}

fn digest_file(root: &Dir, path: &Path) -> io::Result<String> {
    read_file(root, path, |_| Ok(()))
}

/// Reads a file in parts, and returns its digest.
fn read_file(
    root: &Dir,
    path: &Path,
    mut part: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    let mut file = root.open_with(path, &options)?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                digest.update(&buffer[..read]);
                part(&buffer[..read])?;
            }
        }
    }
    Ok(in_hexadecimal(&digest.finalize()))
}

/// Reads a file as text; `None` if it is something else.
pub(super) fn read_small_text(file: File) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    file.take(MOST_SHOWN + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
}
