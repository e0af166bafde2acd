//! Operations of a workspace beside the content of files: makes directories, removes entries, and
//! checks paths before their use.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::path::wrong_kind;
use crate::secrets::PathKind;
use crate::{DirectoryEntry, EntryKind, FileError, Workspace, WorkspacePath};

/// The treatment of a directory with entries in [`Workspace::remove_entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveMode {
    /// The directory is refused.
    Single,
    /// The directory is removed with all of its entries.
    Recursive,
}

/// The kind of a removed entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedKind {
    /// A file, a pipe, a socket.
    File,
    /// A link; its target stays.
    Link,
    /// A directory with this number of entries in it and below it.
    Directory(usize),
}

impl Workspace {
    /// Makes a directory, with those above it. Returns `false` if it existed already.
    ///
    /// # Errors
    /// [`FileError`], for example if a file has the name.
    pub fn create_directory(&self, path: &WorkspacePath) -> Result<bool, FileError> {
        self.can_change(path)?;
        self.admit_real_path(path, PathKind::Directory)?;
        self.admit_protected(path, &self.resolve_links(path.as_path().to_owned()))?;
        match self.handle().metadata(path.as_path()) {
            Ok(found) if found.is_dir() => return Ok(false),
            Ok(_) => return Err(wrong_kind(path, "a directory")),
            Err(_) => {}
        }
        let made = self.make_directories(path.as_path(), self.trust_of_writing());
        made.map_err(|error| self.file_error(path, &error))?;
        Ok(true)
    }

    /// Returns the kind of the entry at a path; `None` if the path is free. A link is not followed.
    ///
    /// # Errors
    /// [`FileError`] if the path cannot be examined.
    pub fn kind(&self, path: &WorkspacePath) -> Result<Option<EntryKind>, FileError> {
        match self.handle().symlink_metadata(path.as_path()) {
            Ok(found) => Ok(Some(EntryKind::from_metadata(&found))),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(self.file_error(path, &error)),
        }
    }

    /// Checks before a write that a path is free or a regular file, is not secret, and is not
    /// reached through a link to a protected path. The write can still fail.
    ///
    /// # Errors
    /// [`FileError`] as for writing.
    pub fn can_write(&self, path: &WorkspacePath) -> Result<(), FileError> {
        self.can_change(path)?;
        self.admit_real_path(path, PathKind::File)?;
        self.admit_protected(path, &self.resolve_links(path.as_path().to_owned()))?;
        match self.kind(path)? {
            None | Some(EntryKind::File(_)) if !path.is_root() => Ok(()),
            _ => Err(wrong_kind(path, "a regular file")),
        }
    }

    /// Removes a file, a link (its target stays), or a directory.
    ///
    /// # Errors
    /// [`FileError`]. Everything is still there then, unless the system refuses in the middle of a
    /// directory.
    pub fn remove_entry(
        &self,
        path: &WorkspacePath,
        mode: RemoveMode,
    ) -> Result<RemovedKind, FileError> {
        self.can_change(path)?;
        let (parent, name) = self.parent_of(path)?;
        let refused = |error| self.file_error(path, &error);
        let kind = EntryKind::from_metadata(&parent.symlink_metadata(name).map_err(refused)?);
        self.admit_entry(path, kind.into())?;
        self.admit_change(path, &parent, name, kind.into())?;
        if kind != EntryKind::Directory {
            parent.remove_file(name).map_err(refused)?;
            return Ok(if kind == EntryKind::Link { RemovedKind::Link } else { RemovedKind::File });
        }
        let entries = self.entries_below(path)?;
        let removed = match (entries, mode) {
            (0, _) => parent.remove_dir(name),
            // Links that appear in it meanwhile are removed; their targets stay.
            (_, RemoveMode::Recursive) => parent.remove_dir_all(name),
            (_, RemoveMode::Single) => {
                return Err(FileError::NotEmpty { path: path.as_given(), entries });
            }
        };
        removed.map_err(refused)?;
        Ok(RemovedKind::Directory(entries))
    }

    /// Counts the entries of a directory and of those below it, if all of them are free of secrets.
    ///
    /// # Errors
    /// [`FileError`] with the name of a secret, or of an unreadable directory.
    pub fn entries_below(&self, path: &WorkspacePath) -> Result<usize, FileError> {
        let apart = self.examine_apart();
        // The number reveals no names, but an error does.
        apart.count_below(path).inspect_err(|_| self.note_shown(apart.least_read()))
    }

    fn count_below(&self, path: &WorkspacePath) -> Result<usize, FileError> {
        let (mut count, mut open) = (0, vec![path.clone()]);
        while let Some(directory) = open.pop() {
            for DirectoryEntry { name, kind } in self.list_entries(&directory)? {
                count += 1;
                let entry = directory.join_name(&name);
                // The listing has checked regular files already.
                if !matches!(kind, EntryKind::File(_)) {
                    self.admit_entry(&entry, kind.into())?;
                }
                if kind == EntryKind::Directory {
                    open.push(entry);
                }
            }
        }
        Ok(count)
    }

    /// Returns the directory that holds an entry, and the entry's name there.
    fn parent_of<'p>(&self, path: &'p WorkspacePath) -> Result<(Dir, &'p OsStr), FileError> {
        let Some(name) = path.as_path().file_name().filter(|_| !path.is_root()) else {
            let detail = match self.beside {
                None => "the root of the workspace stays".to_owned(),
                Some(_) => "a directory that the configuration names stays".to_owned(),
            };
            return Err(FileError::Refused { path: path.as_given(), detail });
        };
        let parent = match path.parent() {
            None => self.handle().try_clone(),
            Some(parent) => self.handle().open_dir(parent),
        };
        Ok((parent.map_err(|error| self.file_error(path, &error))?, name))
    }

    /// Fails if a path, or its target through links, is a secret.
    pub(crate) fn admit_real_path(
        &self,
        path: &WorkspacePath,
        kind: PathKind,
    ) -> Result<(), FileError> {
        self.admit_path(path, &self.resolve_links(path.as_path().to_owned()), kind)
    }

    /// Like `admit_real_path`, for the entry itself: the target of a link is ignored.
    pub(crate) fn admit_entry(
        &self,
        path: &WorkspacePath,
        kind: PathKind,
    ) -> Result<(), FileError> {
        let parent = self.resolve_links(path.parent().map_or_else(PathBuf::new, PathBuf::from));
        let name = path.as_path().file_name().unwrap_or_default();
        self.admit_path(path, &parent.join(name), kind)
    }

    /// Like `admit_real_path`, for an entry of an open directory that is about to change. Protected
    /// paths may be read, but not changed.
    pub(crate) fn admit_change(
        &self,
        path: &WorkspacePath,
        directory: &impl AsFd,
        name: &OsStr,
        kind: PathKind,
    ) -> Result<(), FileError> {
        let Some(place) = self.path_of_opened(directory) else { return Ok(()) };
        let place = place.join(name);
        self.admit_path(path, &place, kind)?;
        self.admit_protected(path, &place)
    }

    /// Returns the path of something open, from the root; `None` if `/proc` does not show it.
    pub(crate) fn path_of_opened(&self, opened: &impl AsFd) -> Option<PathBuf> {
        /// The text that the kernel appends to the path of a removed file.
        const GONE: &str = " (deleted)";
        let path =
            |of: &dyn AsFd| fs::read_link(format!("/proc/self/fd/{}", of.as_fd().as_raw_fd())).ok();
        let (place, root) = (path(opened)?, path(self.handle())?);
        let place = below_root(&place, &root)?;
        let gone = place.to_str().and_then(|text| text.strip_suffix(GONE));
        Some(gone.map_or(place, Path::new).to_owned())
    }

    /// Fails if a path, or the place of its target, is a secret.
    pub(crate) fn admit_path(
        &self,
        path: &WorkspacePath,
        real: &Path,
        kind: PathKind,
    ) -> Result<(), FileError> {
        let is_same = real.as_os_str() == path.as_path().as_os_str();
        for place in [path.as_path(), real].into_iter().skip(usize::from(is_same)) {
            if let Some(why) = self.secrets().why_secret(place, kind) {
                self.note_shown_existing(place);
                let opened_by = self.shown_path(place.display().to_string());
                return Err(FileError::Secret { path: path.as_given(), why, opened_by });
            }
        }
        Ok(())
    }

    /// Returns the target of a path through links, as far as the path exists.
    pub(crate) fn resolve_links(&self, path: PathBuf) -> PathBuf {
        for above in path.ancestors() {
            if let Ok(real) = self.handle().canonicalize(above) {
                let below = path.strip_prefix(above).unwrap_or(Path::new(""));
                return if below.as_os_str().is_empty() { real } else { real.join(below) };
            }
        }
        path
    }
}

/// Returns a path below a root; `None` for another. Both are in the form of `/proc`.
fn below_root<'p>(path: &'p Path, root: &Path) -> Option<&'p Path> {
    let below = path.as_os_str().as_bytes().strip_prefix(root.as_os_str().as_bytes())?;
    let below = match below {
        [] => below,
        [b'/', below @ ..] => below,
        _ if root == Path::new("/") => below,
        _ => return None,
    };
    Some(Path::new(OsStr::from_bytes(below)))
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
