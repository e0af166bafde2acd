//! The directories of the channel: the check of their owner and mode, and all access to files.
//! Every function blocks.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use avocet_protocol::{SendError, Timestamp, plain_io};
use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::send::OutboxFile;

/// Bytes of the longest message that the bus accepts.
pub(crate) const MAX_BYTES: usize = 256 * 1024;
/// Permission bits of everyone except the owner. An access control list shows in them, too.
const OTHERS: u32 = 0o077;

/// The directory of the configuration, and those in it.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    root: PathBuf,
    inbox: PathBuf,
    /// Files on their way into the log. Programs may replace a file in the inbox at any time, but
    /// not here.
    taken: PathBuf,
    outbox: PathBuf,
    refused: PathBuf,
}

/// A file that was in the inbox.
#[derive(Debug)]
pub(crate) struct TakenFile {
    pub(crate) name: OsString,
    /// At most [`MAX_BYTES`] and one more; `None` if it is not a regular file, or if the daemon's
    /// user may not read it.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The time of its last change.
    pub(crate) written_at: Timestamp,
    /// The time at which it was taken, to the nanosecond. A crash does not change it.
    pub(crate) taken_at: String,
}

impl Folders {
    pub(crate) fn new(root: PathBuf) -> Self {
        let [inbox, taken, outbox, refused] =
            ["inbox", "taken", "outbox", "refused"].map(|name| root.join(name));
        Self { root, inbox, taken, outbox, refused }
    }

    /// Creates the directories that are missing, and checks them.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        for path in [&self.root, &self.inbox, &self.taken, &self.outbox, &self.refused] {
            match DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => created.map_err(|error| failed("create", path, &error))?,
            }
            if !status(path)?.is_dir() {
                return Err(format!("{} is not a directory", path.display()));
            }
        }
        self.check()
    }

    /// Refuses a directory that another user can read or change. With mode 0700, those in it are
    /// out of reach as well, whatever their modes are.
    fn check(&self) -> Result<(), String> {
        let (root, path) = (status(&self.root)?, self.root.display());
        let (owner, ours) = (root.uid(), geteuid().as_raw());
        if owner != ours {
            return Err(format!(
                "{path} belongs to user {owner}, and the daemon runs as user {ours}; run: chown {ours} {path}"
            ));
        }
        if root.mode() & OTHERS != 0 {
            let mode = root.mode() & 0o777;
            return Err(format!(
                "{path} has mode {mode:04o}, so that other users have access to it; run: chmod 700 {path}"
            ));
        }
        Ok(())
    }

    /// Describes the state of the directory without changing it.
    pub(crate) fn probe(&self) -> Result<String, String> {
        let path = self.root.display();
        if !self.root.exists() {
            return Ok(format!("{path} is created when the daemon starts"));
        }
        self.check().map(|()| format!("{path} belongs to the daemon's user alone"))
    }

    /// Takes the complete files out of the inbox. Returns the names of all files that are taken and
    /// not yet accepted, sorted, with those of earlier attempts.
    pub(crate) fn take(&self) -> Result<Vec<OsString>, String> {
        self.check()?;
        let mut complete = names(&self.inbox)?;
        complete.retain(|name| is_complete(name));
        for name in &complete {
            let (from, to) = (self.inbox.join(name), self.taken.join(name));
            // An earlier file with this name comes first.
            if fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            match fs::rename(&from, &to) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                moved => moved.map_err(|error| failed("move", &from, &error))?,
            }
        }
        if !complete.is_empty() {
            // A power failure after the commit must not take a file back to the inbox.
            sync(&self.taken).map_err(|error| failed("sync", &self.taken, &error))?;
        }
        names(&self.taken)
    }

    /// Reads a taken file.
    pub(crate) fn read(&self, name: &OsStr) -> Result<TakenFile, String> {
        let path = self.taken.join(name);
        let read = || {
            let status = fs::symlink_metadata(&path)?;
            let bytes = if status.is_file() { read_regular(&path)? } else { None };
            let written_at = Timestamp(status.mtime() * 1000 + status.mtime_nsec() / 1_000_000);
            let taken_at = format!("{}.{:09}", status.ctime(), status.ctime_nsec());
            Ok(TakenFile { name: name.to_owned(), bytes, written_at, taken_at })
        };
        read().map_err(|error| failed("read", &path, &error))
    }

    /// Removes a taken file, once its message is in the log.
    pub(crate) fn remove(&self, name: &OsStr) -> Result<(), String> {
        let path = self.taken.join(name);
        fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))
    }

    /// Moves a taken file to the refused ones, with the reason beside it if there is space.
    pub(crate) fn refuse(&self, name: &OsStr, reason: &str) -> Result<(), String> {
        let (from, to) = (self.taken.join(name), self.refused.join(name));
        let mut error_file = to.clone().into_os_string();
        error_file.push(".error");
        if let Err(error) = fs::write(&error_file, format!("{reason}\n")) {
            tracing::warn!(file = ?error_file, error = plain_io(&error), "cannot write the reason");
        }
        fs::rename(&from, &to).map_err(|error| failed("move", &from, &error))
    }

    /// Writes a file of the outbox: under a temporary name, then synced, then renamed. An existing
    /// file with this name has the same content.
    pub(crate) fn write(&self, OutboxFile { name, bytes }: &OutboxFile) -> Result<(), SendError> {
        self.prepare().map_err(SendError::Failed)?;
        let (path, temporary) = (self.outbox.join(name), self.outbox.join(format!(".{name}.tmp")));
        let write = || {
            if path.try_exists()? {
                return Ok(());
            }
            let mut file = File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| {
            // Frees the space if the disk is full.
            drop(fs::remove_file(&temporary));
            SendError::Failed(failed("write", &path, &error))
        })?;
        // From here on, a reader can have seen the file.
        sync(&self.outbox).map_err(|error| SendError::Unknown(failed("sync", &self.outbox, &error)))
    }
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Result<Vec<OsString>, String> {
    let read = || fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect();
    let names: io::Result<Vec<OsString>> = read();
    let mut names = names.map_err(|error| failed("read", directory, &error))?;
    names.sort();
    Ok(names)
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Returns `false` for hidden and temporary names, which programs use while they write.
fn is_complete(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    !name.starts_with(b".") && !name.ends_with(b".tmp") && !name.ends_with(b"~")
}

/// Reads a regular file. If it is replaced by a link or a pipe meanwhile, neither is followed or
/// waited for.
fn read_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The status of a directory; a link is not followed.
fn status(path: &Path) -> Result<fs::Metadata, String> {
    fs::symlink_metadata(path).map_err(|error| failed("read", path, &error))
}

fn failed(action: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {action} {}: {}", path.display(), plain_io(error))
}
