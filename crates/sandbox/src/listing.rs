//! Lists the directories of a workspace, and tells which files stay closed.

use std::io::ErrorKind;
use std::path::Path;

use cap_std::fs::{Metadata, MetadataExt};

use crate::path::wrong_kind;
use crate::secrets::PathKind;
use crate::{EntryKind, FileError, Workspace, WorkspacePath};

/// One name in a listing, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// The last part of the path.
    pub name: String,
    /// That of a link itself, and not of its target.
    pub kind: EntryKind,
}

impl Workspace {
    /// Returns the sorted names of the directories and links in a directory. Reads at most
    /// `most_entries` entries, and returns `true` if there are more. This does not count as
    /// reading: the caller judges the trust of each file.
    ///
    /// # Errors
    /// [`FileError`] names the path and the problem.
    pub fn list_directory_names(
        &self,
        path: &WorkspacePath,
        most_entries: usize,
    ) -> Result<(Vec<String>, bool), FileError> {
        let opened = self.handle().open_dir(path.as_path());
        let entries = opened.and_then(|directory| directory.entries());
        let mut entries = entries.map_err(|error| match error.kind() {
            ErrorKind::NotADirectory => wrong_kind(path, "a directory"),
            _ => self.file_error(path, &error),
        })?;
        let mut names = Vec::new();
        for entry in entries.by_ref().take(most_entries) {
            let entry = entry.map_err(|error| self.file_error(path, &error))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink()) {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok((names, entries.next().is_some()))
    }

    /// Lists the entries of a directory, sorted by name.
    ///
    /// # Errors
    /// [`FileError`]; for a missing directory it names the paths that were probably meant.
    pub fn list_entries(&self, path: &WorkspacePath) -> Result<Vec<DirectoryEntry>, FileError> {
        let opened = self.handle().open_dir(path.as_path());
        let opened = opened.and_then(|directory| Ok((directory.entries()?, directory)));
        let (entries, directory) = opened.map_err(|error| match error.kind() {
            ErrorKind::NotADirectory => wrong_kind(path, "a directory"),
            _ => self.file_error(path, &error),
        })?;
        let place = self.path_of_opened(&directory);
        let real = place.unwrap_or_else(|| self.resolve_links(path.as_path().to_owned()));
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.file_error(path, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // The entry may have gone since.
            let Ok(found) = entry.metadata() else { continue };
            let kind = match EntryKind::from_metadata(&found) {
                EntryKind::File(_) if self.is_closed(&real.join(&name), &found) => {
                    EntryKind::Secret
                }
                kind => kind,
            };
            listed.push(DirectoryEntry { name, kind });
        }
        listed.sort();
        let names = listed.iter().map(|DirectoryEntry { name, kind }| {
            (name.as_str(), !matches!(kind, EntryKind::Link | EntryKind::Other))
        });
        let names: Vec<(&str, bool)> = names.collect();
        self.note_read(self.trust_of_entries(path, &directory, &names));
        Ok(listed)
    }

    /// Returns `true` if a regular file at this place stays closed.
    fn is_closed(&self, place: &Path, found: &Metadata) -> bool {
        self.secrets().why_secret(place, PathKind::File).is_some() || self.is_shared(place, found)
    }

    pub(crate) fn is_shared(&self, place: &Path, found: &Metadata) -> bool {
        found.nlink() > 1 && !self.secrets().is_opened(place)
    }
}
