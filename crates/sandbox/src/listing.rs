//! What is in a directory of a workspace, and what of it is not opened.

use std::io::ErrorKind;
use std::path::Path;

use cap_std::fs::{Metadata, MetadataExt};

use crate::error::wrong_kind;
use crate::{FileError, Workspace, WorkspacePath};

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What something in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file, with its size in bytes.
    File(u64),
    /// A symbolic link.
    Link,
    /// A file that is not opened, nor looked at: see [`Workspace::guarded`], and [`FileError::Shared`].
    Secret,
    /// A pipe, a socket, a device.
    Other,
}

impl EntryKind {
    /// What something is, whatever its name.
    pub(crate) fn of(found: &Metadata) -> Self {
        match found.file_type() {
            kind if kind.is_dir() => Self::Directory,
            kind if kind.is_file() => Self::File(found.len()),
            kind if kind.is_symlink() => Self::Link,
            _ => Self::Other,
        }
    }
}

impl Workspace {
    /// What is in a directory, by name.
    ///
    /// # Errors
    /// [`FileError`]; if nothing is there, it names what was probably meant.
    pub fn list(&self, path: &WorkspacePath) -> Result<Vec<Entry>, FileError> {
        let opened = self.handle().open_dir(path.as_path());
        let opened = opened.and_then(|directory| Ok((directory.entries()?, directory)));
        let (entries, directory) = opened.map_err(|error| match error.kind() {
            ErrorKind::NotADirectory => wrong_kind(path, "a directory"),
            _ => self.error(path, &error),
        })?;
        let place = self.place(&directory);
        let real = place.unwrap_or_else(|| self.real(path.as_path().to_owned()));
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.error(path, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // It may have gone since.
            let Ok(found) = entry.metadata() else { continue };
            let kind = match EntryKind::of(&found) {
                EntryKind::File(_) if self.is_closed(&real.join(&name), &found) => {
                    EntryKind::Secret
                }
                kind => kind,
            };
            listed.push(Entry { name, kind });
        }
        listed.sort();
        let names = listed.iter().map(|Entry { name, kind }| {
            (name.as_str(), !matches!(kind, EntryKind::Link | EntryKind::Other))
        });
        self.note_read(self.trust_of_entries(path, &directory, names));
        Ok(listed)
    }

    /// Whether a regular file is not opened, by where it is.
    fn is_closed(&self, place: &Path, found: &Metadata) -> bool {
        self.secrets().why(place, false).is_some() || self.is_shared(place, found)
    }

    pub(crate) fn is_shared(&self, place: &Path, found: &Metadata) -> bool {
        found.nlink() > 1 && !self.secrets().is_opened(place)
    }
}
