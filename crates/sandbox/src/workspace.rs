//! The workspace: the one directory in which file tools work. Everything below it is opened through
//! a handle, so that `..`, links and races cannot lead out.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::access::Trust;
use avocet_text::in_hexadecimal;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::nearest::{find_nearest_paths, same_name};
use crate::path::wrong_kind;
use crate::protection::PathProtection;
use crate::provenance::FileProvenance;
use crate::replace::replace_file;
use crate::roots::BesideRoot;
use crate::secrets::{BadPattern, PathKind, SecretRules};
use crate::symlink_trace::trace_symlinks;
use crate::task_trust::TaskTrust;
use crate::{FileError, RootAccess, WorkspaceError, WorkspacePath};

/// The largest file that is read or written whole, in bytes.
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// A directory that file tools cannot leave. Clones share their state.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    /// The root as given, before links are resolved.
    named: PathBuf,
    handle: Arc<Dir>,
    identity: Arc<RootIdentity>,
    secrets: Arc<SecretRules>,
    pub(crate) protection: Arc<PathProtection>,
    pub(crate) provenance: Arc<FileProvenance>,
    pub(crate) task_trust: TaskTrust,
    /// The properties of a directory beside a workspace; `None` for a workspace.
    pub(crate) beside: Option<BesideRoot>,
}

/// Device and inode of the directory that was opened.
#[derive(Debug)]
struct RootIdentity {
    device: u64,
    inode: u64,
    /// `true` once the log says that another directory is there now.
    is_logged: AtomicBool,
}

impl Workspace {
    /// Opens the workspace; makes the directory if it does not exist. Files with the names of
    /// passwords or keys stay closed to everybody.
    ///
    /// # Errors
    /// [`WorkspaceError`] if the directory cannot be made, opened or listed.
    ///
    /// # Panics
    /// If a built-in pattern of secrets is invalid.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let made = std::fs::create_dir_all(path).map_err(|error| match error.kind() {
            // Something other than a directory has this path.
            ErrorKind::AlreadyExists => ErrorKind::NotADirectory.into(),
            _ => error,
        });
        let opened = made.and_then(|()| Self::open_with_access(path, None));
        opened.map_err(|error| WorkspaceError { what: "the workspace", path: path.into(), error })
    }

    /// Opens an existing directory: a workspace, or one beside it with the permitted access.
    pub(crate) fn open_with_access(path: &Path, access: Option<RootAccess>) -> io::Result<Self> {
        let named = std::path::absolute(path)?;
        let root = path.canonicalize()?;
        let handle = Dir::open_ambient_dir(&root, ambient_authority())?;
        handle.entries()?;
        let found = handle.dir_metadata()?;
        let (device, inode) = (found.dev(), found.ino());
        let identity = RootIdentity { device, inode, is_logged: AtomicBool::new(false) }.into();
        let beside = access.map(|access| BesideRoot { root: root.clone().into(), access });
        let secrets = match SecretRules::new(&[], &[]) {
            Ok(secrets) => place_rules(secrets, beside.as_ref()).into(),
            Err(error) => panic!("the names of secrets are written in the source: {error}"),
        };
        let provenance = FileProvenance::probe_root(&handle, access).into();
        let (handle, task_trust) = (handle.into(), TaskTrust::default());
        let protection = Arc::default();
        Ok(Self {
            root,
            named,
            handle,
            identity,
            secrets,
            protection,
            provenance,
            task_trust,
            beside,
        })
    }

    /// Returns the workspace with other rules for secrets. `opened` opens files by patterns of
    /// names, or of paths from the root, in which `*` stands for any characters. `own` are the
    /// daemon's files and directories; those below the root are secret.
    ///
    /// # Errors
    /// [`BadPattern`] if a pattern is invalid.
    pub fn with_secret_rules(
        mut self,
        opened: &[String],
        own: &[PathBuf],
    ) -> Result<Self, BadPattern> {
        // A link to the daemon's own file is secret, too: without the link the daemon could not
        // find the file.
        let places = own.iter().flat_map(|path| {
            let trace = trace_symlinks(path).unwrap_or_default();
            let last = trace.last().cloned();
            trace.into_iter().filter(|place| place.is_symlink()).chain(last)
        });
        let below = |place: PathBuf| place.strip_prefix(&self.root).ok().map(Path::to_owned);
        let own = places.filter_map(below).filter(|below| !below.as_os_str().is_empty());
        let own: Vec<PathBuf> = own.collect();
        self.secrets = place_rules(SecretRules::new(opened, &own)?, self.beside.as_ref()).into();
        Ok(self)
    }

    pub(crate) fn handle(&self) -> &Dir {
        &self.handle
    }

    pub(crate) fn secrets(&self) -> &SecretRules {
        &self.secrets
    }

    /// Returns the absolute root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path as given, from the root. Every path of a tool passes through here.
    ///
    /// # Errors
    /// [`FileError::Outside`], with the given path, its target, and the paths that were probably
    /// meant. [`FileError::Replaced`] if another directory has replaced the opened one.
    pub fn resolve_path(&self, given: &str) -> Result<WorkspacePath, FileError> {
        self.check_identity()?;
        match WorkspacePath::resolve(&self.root, &self.named, given) {
            Ok(path) => {
                let path = path.with_beside_root(self.beside.as_ref().map(|beside| &beside.root));
                tracing::debug!(given, resolved = %path, "a path is resolved");
                Ok(path)
            }
            Err(FileError::Outside { input, resolved, roots, .. }) => {
                tracing::debug!(given, resolved, "a path is outside the workspace");
                let same_name = same_name(&self.handle, &resolved);
                self.note_shown_names(&same_name);
                Err(FileError::Outside { input, resolved, same_name, roots })
            }
            Err(other) => Err(other),
        }
    }

    /// Compares the directory at the root's path with the opened one. Programs get the path, and
    /// would work in another directory than the file tools.
    fn check_identity(&self) -> Result<(), FileError> {
        let RootIdentity { device, inode, is_logged } = &*self.identity;
        let now = match std::fs::metadata(&self.root) {
            Ok(found) if (found.dev(), found.ino()) == (*device, *inode) => return Ok(()),
            Ok(_) => "another directory is there now".to_owned(),
            Err(error) => error.to_string(),
        };
        let error = FileError::Replaced { root: self.root.display().to_string(), now };
        if !is_logged.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "a directory of the agent cannot be used");
        }
        Err(error)
    }

    /// Returns the absolute place of a path; `None` if it is outside.
    pub(crate) fn place_of(&self, given: &str) -> Option<PathBuf> {
        let path = WorkspacePath::resolve(&self.root, &self.named, given).ok()?;
        Some(if path.is_root() { self.root.clone() } else { self.root.join(path.as_path()) })
    }

    /// Reads a whole regular file of at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// [`FileError`]; for a missing file it names the paths that were probably meant.
    pub fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, FileError> {
        self.read_up_to(path, MAX_FILE_BYTES)
    }

    /// Reads like [`Self::read`], with a limit in bytes.
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
        match read.map_err(|error| self.file_error(path, &error))? as u64 {
            length if length > limit => Err(too_large(length)),
            _ => Ok(bytes),
        }
    }

    /// Reads at most `limit` bytes from the start of a regular file. Returns them with the size of
    /// the file; `None` if the file does not exist.
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
        read.map_err(|error| self.file_error(path, &error))?;
        Ok(Some((bytes, size)))
    }

    /// Returns `true` if the root has no entry of this name. The system keeps missing names in
    /// memory, so that this reads no disk. `false` for a path of several names.
    #[must_use]
    pub fn is_missing(&self, name: &str) -> bool {
        if name.contains('/') {
            return false;
        }
        let found = rustix::fs::statat(self.handle.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_err_and(|error| error == Errno::NOENT)
    }

    /// Opens a regular file for reading, and returns its size in bytes.
    pub(crate) fn open_regular(&self, path: &WorkspacePath) -> Result<(File, u64), FileError> {
        let real = self.resolve_links(path.as_path().to_owned());
        self.admit_path(path, &real, PathKind::File)?;
        // Without these flags, opening a pipe without a writer would block, and a terminal would
        // become the daemon's.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags);
        let file = self.handle.open_with(path.as_path(), &options);
        let file = file.map_err(|error| self.file_error(path, &error))?;
        let found = file.metadata().map_err(|error| self.file_error(path, &error))?;
        self.admit_regular(path, &found)?;
        let place = self.path_of_opened(&file);
        // A link may have changed since.
        if let Some(place) = place.as_ref().filter(|place| **place != real) {
            self.admit_path(path, place, PathKind::File)?;
        }
        self.note_read(self.trust_of_opened(path, &file, place.as_deref()));
        Ok((file, found.len()))
    }

    /// Fails for anything but a regular file with a single name. Further names may be outside the
    /// workspace, or those of secrets. Only their number is known: systems do not list them.
    fn admit_regular(&self, path: &WorkspacePath, found: &Metadata) -> Result<(), FileError> {
        if !found.is_file() {
            return Err(wrong_kind(path, "a regular file"));
        }
        // Without further names, the links are not looked at again.
        if found.nlink() > 1
            && self.is_shared(&self.resolve_links(path.as_path().to_owned()), found)
        {
            return Err(FileError::Shared { path: path.as_given(), names: found.nlink() });
        }
        Ok(())
    }

    /// Returns the size of a regular file, in bytes.
    ///
    /// # Errors
    /// [`FileError`]; for a missing file it names the paths that were probably meant.
    pub fn file_size(&self, path: &WorkspacePath) -> Result<u64, FileError> {
        self.admit_real_path(path, PathKind::File)?;
        let found = self.handle.metadata(path.as_path());
        let found = found.map_err(|error| self.file_error(path, &error))?;
        self.admit_regular(path, &found)?;
        Ok(found.len())
    }

    /// Reads like [`Self::read`]; returns `None` if the file does not exist.
    ///
    /// # Errors
    /// [`FileError`] as for reading.
    pub fn read_if_any(&self, path: &WorkspacePath) -> Result<Option<Vec<u8>>, FileError> {
        self.admit_real_path(path, PathKind::File)?;
        // An error with similar names is avoided here: a missing file is meant to be made.
        if self.kind(path)?.is_none() {
            return Ok(None);
        }
        match self.read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(FileError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes like [`Self::write_any`], at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// [`FileError`]; the file is then unchanged.
    pub fn write(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), FileError> {
        self.write_as(path, bytes, self.trust_of_writing())
    }

    /// Writes like `write`, but the content is known to have this trust.
    ///
    /// # Errors
    /// [`FileError`]; the file is then unchanged.
    pub fn write_as(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        trust: Trust,
    ) -> Result<(), FileError> {
        let (length, limit) = (bytes.len() as u64, MAX_FILE_BYTES);
        if length > limit {
            return Err(FileError::TooLarge { path: path.as_given(), bytes: length, limit });
        }
        self.put_file(path, bytes, trust)
    }

    /// Replaces a file, or makes it with the directories above it. Afterwards it holds either its
    /// old content or all of `bytes`, whatever happens meanwhile. Its permissions stay. It gets the
    /// trust of the request, and of the data read for it: see [`Self::on_behalf`]. The caller
    /// limits the size.
    ///
    /// # Errors
    /// [`FileError`]; the file is then unchanged.
    pub fn write_any(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), FileError> {
        self.put_file(path, bytes, self.trust_of_writing())
    }

    fn put_file(&self, path: &WorkspacePath, bytes: &[u8], trust: Trust) -> Result<(), FileError> {
        if path.is_root() {
            return Err(wrong_kind(path, "a regular file"));
        }
        self.can_change(path)?;
        self.admit_real_path(path, PathKind::File)?;
        self.admit_protected(path, &self.resolve_links(path.as_path().to_owned()))?;
        let parent = match path.parent() {
            None => self.handle.try_clone(),
            Some(parent) => {
                self.make_directories(parent, trust).and_then(|()| self.handle.open_dir(parent))
            }
        };
        let parent = parent.map_err(|error| self.file_error(path, &error))?;
        let name = path.as_path().file_name().unwrap_or_default();
        self.admit_change(path, &parent, name, PathKind::File)?;
        let permissions = match parent.symlink_metadata(name) {
            Ok(found) if found.is_file() => Some(found.permissions()),
            Ok(_) => return Err(wrong_kind(path, "a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(self.file_error(path, &error)),
        };
        let mark = |file: &File| self.provenance.mark_file(file, trust);
        let replaced = replace_file(&parent, name.as_ref(), bytes, permissions, mark);
        replaced.map_err(|error| self.file_error(path, &error))?;
        self.approve_change(path);
        Ok(())
    }

    pub(crate) fn file_error(&self, path: &WorkspacePath, error: &io::Error) -> FileError {
        if error.kind() == ErrorKind::NotFound {
            let nearest = find_nearest_paths(&self.handle, path.as_path());
            self.note_shown_names(&nearest);
            let nearest = nearest.into_iter().map(|near| self.shown_path(near)).collect();
            return FileError::NotFound { path: path.as_given(), nearest };
        }
        FileError::Refused { path: path.as_given(), detail: error.to_string() }
    }
}

/// Adapts the rules for secrets to a workspace, or to a directory beside it.
fn place_rules(secrets: SecretRules, beside: Option<&BesideRoot>) -> SecretRules {
    match beside {
        Some(BesideRoot { root, .. }) => secrets.with_directory(root),
        None => secrets,
    }
}

/// Returns the SHA-256 of a file's content, in hexadecimal.
#[must_use]
pub fn digest_bytes(bytes: &[u8]) -> String {
    in_hexadecimal(&Sha256::digest(bytes))
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
