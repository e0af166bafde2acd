//! The workspace: the one directory in which file tools work. Everything below it is opened through
//! a handle to it, so that no `..`, no link and no race leads out.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt, Permissions};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use crate::WorkspacePath;
use crate::nearest::{nearest, same_name};
use crate::secrets::{BadPattern, SECRET_FILES, Secrets};

/// The largest file that is read or written whole, in bytes.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the workspace {path} cannot be used ({error}); check the path, its owner and its permissions"
)]
pub struct WorkspaceError {
    /// The directory.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

/// Why a file cannot be used. The text is written for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The path leads out of the workspace.
    #[error(
        "{input:?} resolves to {resolved}, which is outside the workspace; give full relative \
         paths from the workspace root, such as src/main.rs{}",
        candidates(same_name)
    )]
    Outside {
        /// What was given.
        input: String,
        /// Where it leads.
        resolved: String,
        /// What has this name in the workspace, relative to its root.
        same_name: Vec<String>,
    },
    /// Nothing is there.
    #[error("{path} does not exist{}", candidates(nearest))]
    NotFound {
        /// Relative to the root, and as it was given.
        path: String,
        /// What was probably meant, relative to the root.
        nearest: Vec<String>,
    },
    /// It is a directory, a device, a pipe.
    #[error("{path} is not {expected}")]
    WrongKind {
        /// Relative to the root, and as it was given.
        path: String,
        /// What was expected, with its article.
        expected: &'static str,
    },
    /// It is larger than what is read or written whole.
    #[error("{path} is {bytes} bytes long; at most {limit} are read or written at once")]
    TooLarge {
        /// Relative to the root, and as it was given.
        path: String,
        /// Its size.
        bytes: u64,
        /// What is read or written at once.
        limit: u64,
    },
    /// A directory has something in it.
    #[error(
        "{path} is a directory with {entries} {} in it; to remove it with all of them, set \
         recursive to true",
        if *entries == 1 { "entry" } else { "entries" }
    )]
    NotEmpty {
        /// Relative to the root, and as it was given.
        path: String,
        /// What is in it, and in the directories in it.
        entries: usize,
    },
    /// It holds a password or a key, or is the daemon's own.
    #[error(
        "{path} is not opened: {why}. The operator can allow it with {SECRET_FILES} = \
         [{opened_by:?}] in the configuration"
    )]
    Secret {
        /// Relative to the root, and as it was given.
        path: String,
        /// Why it counts as a secret.
        why: &'static str,
        /// The pattern that opens it.
        opened_by: String,
    },
    /// The system refused.
    #[error("{path}: {detail}")]
    Refused {
        /// Relative to the root, and as it was given.
        path: String,
        /// What the system said.
        detail: String,
    },
}

fn candidates(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        several => {
            format!("; did you mean one of these? Give its full path: {}", several.join(", "))
        }
    }
}

/// A directory and no way out of it.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// The same as it was given, through whatever links.
    named: PathBuf,
    handle: Dir,
    secrets: Secrets,
}

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
    /// A file that is not opened, nor looked at: see [`Workspace::guarded`].
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
    /// Opens the workspace; makes the directory if it does not exist. Files whose names say that they
    /// hold passwords or keys are not opened by anybody.
    ///
    /// # Errors
    /// [`WorkspaceError`] if it cannot be made, opened or listed.
    ///
    /// # Panics
    /// If the names of secrets are no patterns; they are written in the source.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let unusable = |error| WorkspaceError { path: path.to_owned(), error };
        std::fs::create_dir_all(path).map_err(|error| match error.kind() {
            // What is there is in the way.
            ErrorKind::AlreadyExists => unusable(ErrorKind::NotADirectory.into()),
            _ => unusable(error),
        })?;
        let named = std::path::absolute(path).map_err(unusable)?;
        let root = path.canonicalize().map_err(unusable)?;
        let handle = Dir::open_ambient_dir(&root, ambient_authority()).map_err(unusable)?;
        handle.entries().map_err(unusable)?;
        let secrets = match Secrets::new(&[], &[]) {
            Ok(secrets) => secrets,
            Err(error) => panic!("the names of secrets are written in the source: {error}"),
        };
        Ok(Self { root, named, handle, secrets })
    }

    /// The same with secrets of which some are `opened`, by patterns of names or of paths from the root,
    /// in which `*` stands for any characters; and with the files and directories that are the daemon's
    /// `own` among them, as far as they are below the root.
    ///
    /// # Errors
    /// [`BadPattern`] if one of the patterns is none.
    pub fn guarded(mut self, opened: &[String], own: &[PathBuf]) -> Result<Self, BadPattern> {
        let below = |path: &PathBuf| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let below = real.strip_prefix(&self.root).or_else(|_| path.strip_prefix(&self.named));
            below.ok().filter(|below| !below.as_os_str().is_empty()).map(Path::to_owned)
        };
        self.secrets = Secrets::new(opened, &own.iter().filter_map(below).collect::<Vec<_>>())?;
        Ok(self)
    }

    pub(crate) fn handle(&self) -> &Dir {
        &self.handle
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The root, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path as it was given, from the root. Every path of a tool goes through here.
    ///
    /// # Errors
    /// [`FileError::Outside`] shows what was given, where it leads, and what was probably meant.
    pub fn resolve(&self, given: &str) -> Result<WorkspacePath, FileError> {
        match WorkspacePath::resolve(&self.root, &self.named, given) {
            Ok(path) => {
                tracing::debug!(given, resolved = %path, "a path is resolved");
                Ok(path)
            }
            Err(FileError::Outside { input, resolved, .. }) => {
                tracing::debug!(given, resolved, "a path is outside the workspace");
                let same_name = same_name(&self.handle, &resolved);
                Err(FileError::Outside { input, resolved, same_name })
            }
            Err(other) => Err(other),
        }
    }

    /// The whole of a regular file of at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// [`FileError`]; if nothing is there, it names what was probably meant.
    pub fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, FileError> {
        self.read_up_to(path, MAX_FILE_BYTES)
    }

    /// As [`Self::read`], with a limit of its own, in bytes.
    ///
    /// # Errors
    /// [`FileError`] as for reading.
    pub fn read_up_to(&self, path: &WorkspacePath, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, size) = self.open_regular(path)?;
        let too_large = |bytes| FileError::TooLarge { path: path.as_given(), bytes, limit };
        if size > limit {
            return Err(too_large(size));
        }
        let mut bytes = Vec::new();
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        match read.map_err(|error| self.error(path, &error))? as u64 {
            length if length > limit => Err(too_large(length)),
            _ => Ok(bytes),
        }
    }

    /// The beginning of a regular file, `limit` bytes of it at most, and its size; none if nothing
    /// is there.
    ///
    /// # Errors
    /// [`FileError`] as for reading.
    pub fn start_of(
        &self,
        path: &WorkspacePath,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, u64)>, FileError> {
        let (file, size) = match self.open_regular(path) {
            Err(FileError::NotFound { .. }) => return Ok(None),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        let read = file.take(limit).read_to_end(&mut bytes);
        read.map_err(|error| self.error(path, &error))?;
        Ok(Some((bytes, size)))
    }

    /// A regular file, to be read, and its size in bytes.
    fn open_regular(&self, path: &WorkspacePath) -> Result<(File, u64), FileError> {
        self.admit(path, false)?;
        // Otherwise a pipe that nobody writes to would be waited for while it is opened.
        let not_waiting = OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(not_waiting);
        let file = self.handle.open_with(path.as_path(), &options);
        let file = file.map_err(|error| self.error(path, &error))?;
        let found = file.metadata().map_err(|error| self.error(path, &error))?;
        if found.is_file() {
            Ok((file, found.len()))
        } else {
            Err(wrong_kind(path, "a regular file"))
        }
    }

    /// The size of a regular file, in bytes.
    ///
    /// # Errors
    /// [`FileError`]; if nothing is there, it names what was probably meant.
    pub fn size(&self, path: &WorkspacePath) -> Result<u64, FileError> {
        self.admit(path, false)?;
        let found = self.handle.metadata(path.as_path());
        let found = found.map_err(|error| self.error(path, &error))?;
        if found.is_file() { Ok(found.len()) } else { Err(wrong_kind(path, "a regular file")) }
    }

    /// As [`Self::read`]; none if nothing is there.
    ///
    /// # Errors
    /// [`FileError`] as for reading.
    pub fn read_if_any(&self, path: &WorkspacePath) -> Result<Option<Vec<u8>>, FileError> {
        match self.read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(FileError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// As [`Self::write_any`], at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// [`FileError`]; the file is then as it was.
    pub fn write(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), FileError> {
        let (length, limit) = (bytes.len() as u64, MAX_FILE_BYTES);
        if length > limit {
            return Err(FileError::TooLarge { path: path.as_given(), bytes: length, limit });
        }
        self.write_any(path, bytes)
    }

    /// Replaces a file, or makes it with the directories above it. Afterwards it holds either what
    /// it held or all of `bytes`, whatever happens meanwhile; its permissions stay. How much that
    /// may be is the caller's matter.
    ///
    /// # Errors
    /// [`FileError`]; the file is then as it was.
    pub fn write_any(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), FileError> {
        if path.is_root() {
            return Err(wrong_kind(path, "a regular file"));
        }
        self.admit(path, false)?;
        let parent = match path.parent() {
            None => self.handle.try_clone(),
            Some(parent) => {
                self.handle.create_dir_all(parent).and_then(|()| self.handle.open_dir(parent))
            }
        };
        let parent = parent.map_err(|error| self.error(path, &error))?;
        let name = path.as_path().file_name().unwrap_or_default();
        let permissions = match parent.symlink_metadata(name) {
            Ok(found) if found.is_file() => Some(found.permissions()),
            Ok(_) => return Err(wrong_kind(path, "a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(self.error(path, &error)),
        };
        let replaced = replace(&parent, name.as_ref(), bytes, permissions);
        replaced.map_err(|error| self.error(path, &error))
    }

    /// What is in a directory, by name.
    ///
    /// # Errors
    /// [`FileError`]; if nothing is there, it names what was probably meant.
    pub fn list(&self, path: &WorkspacePath) -> Result<Vec<Entry>, FileError> {
        let entries = self.handle.read_dir(path.as_path());
        let entries = entries.map_err(|error| match error.kind() {
            ErrorKind::NotADirectory => wrong_kind(path, "a directory"),
            _ => self.error(path, &error),
        })?;
        let real = self.real(path.as_path().to_owned());
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.error(path, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // It may have gone since.
            let Ok(found) = entry.metadata() else { continue };
            let kind = match EntryKind::of(&found) {
                EntryKind::File(_) if self.secrets.why(&real.join(&name), false).is_some() => {
                    EntryKind::Secret
                }
                kind => kind,
            };
            listed.push(Entry { name, kind });
        }
        listed.sort();
        Ok(listed)
    }

    pub(crate) fn error(&self, path: &WorkspacePath, error: &io::Error) -> FileError {
        if error.kind() == ErrorKind::NotFound {
            let nearest = nearest(&self.handle, path);
            return FileError::NotFound { path: path.as_given(), nearest };
        }
        FileError::Refused { path: path.as_given(), detail: error.to_string() }
    }
}

pub(crate) fn wrong_kind(path: &WorkspacePath, expected: &'static str) -> FileError {
    FileError::WrongKind { path: path.as_given(), expected }
}

/// What temporary files end in.
const TEMPORARY: &str = ".avocet-tmp";

/// Writes a temporary file beside the target, brings it to the disk and renames it.
fn replace(
    parent: &Dir,
    name: &Path,
    bytes: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let prefix = format!(".{}.", name.display());
    let own = format!("{prefix}{}-", std::process::id());
    remove_left_over(parent, &prefix, &own);
    let temporary = format!("{own}{}{TEMPORARY}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let written = (|| {
        let mut options = OpenOptions::new();
        let mut file = parent.open_with(&temporary, options.write(true).create_new(true))?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        parent.rename(&temporary, parent, name)
    })();
    if written.is_err() {
        // What cannot be removed is removed at the next write.
        parent.remove_file(&temporary).unwrap_or_default();
    }
    written?;
    parent.open(".")?.sync_all()
}

/// Removes what a process that died has left of a write to the same file.
fn remove_left_over(parent: &Dir, prefix: &str, own: &str) {
    for entry in parent.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_temporary(&name, prefix) && !name.starts_with(own) {
            parent.remove_file(&*name).unwrap_or_default();
        }
    }
}

/// Whether a name is the prefix, two numbers (process and write), and what temporary files end in:
/// those of `main.rs` begin as those of `main` do, and are not theirs.
fn is_temporary(name: &str, prefix: &str) -> bool {
    let numbers = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(TEMPORARY));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(process, write)| is_number(process) && is_number(write))
}

/// The SHA-256 of a file's content, in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
