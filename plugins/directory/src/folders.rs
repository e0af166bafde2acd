//! The directories of the channel: the check of their owner and mode, and all access to files.
//! Every function blocks.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use avocet_protocol::channel::SendError;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ignore_result;
use avocet_text::plain_io;
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
        create(&self.root)?;
        self.check()?;
        for path in [&self.inbox, &self.taken, &self.outbox, &self.refused] {
            create(path)?;
        }
        Ok(())
    }

    /// Refuses a root directory that another user can read or change. Its mode 0700 also protects
    /// the directories in it, whatever their modes are.
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
        let status = fs::symlink_metadata(&self.root);
        if status.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Ok(format!("{path} is created when the daemon starts"));
        }
        self.check().map(|()| format!("{path} belongs to the daemon's user alone"))
    }

    /// Moves the complete files of the inbox to the taken ones. An error with one file leaves the
    /// others unaffected.
    pub(crate) fn take(&self) -> Result<(), String> {
        self.check()?;
        let mut taken = Ok(());
        for name in names(&self.inbox)?.into_iter().filter(|name| is_complete(name)) {
            let (from, to) = (self.inbox.join(&name), self.taken.join(&name));
            // An earlier file with this name comes first.
            if fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            match fs::rename(&from, &to) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                moved => taken = taken.and(moved.map_err(|error| failed("move", &from, &error))),
            }
        }
        taken
    }

    /// Returns the sorted names of all taken files, with those of earlier attempts.
    pub(crate) fn taken(&self) -> Result<Vec<OsString>, String> {
        self.check()?;
        let taken = names(&self.taken)?;
        if !taken.is_empty() {
            // A power failure after the commit must not move a file back to the inbox.
            sync(&self.taken).map_err(|error| failed("sync", &self.taken, &error))?;
        }
        Ok(taken)
    }

    pub(crate) fn read(&self, name: &OsStr) -> Result<TakenFile, String> {
        let path = self.taken.join(name);
        let read = || {
            let status = fs::symlink_metadata(&path)?;
            let bytes = if status.is_file() { read_regular(&path)? } else { None };
            let written_at = status.mtime().saturating_mul(1000);
            let written_at = Timestamp(written_at.saturating_add(status.mtime_nsec() / 1_000_000));
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
        // Something else may have this name: a link would lead elsewhere, and a pipe would block.
        ignore_result(fs::remove_file(&error_file), "what stays makes `create_new` below fail");
        let written = File::create_new(&error_file).and_then(|mut file| writeln!(file, "{reason}"));
        if let Err(error) = written {
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
            ignore_result(
                fs::remove_file(&temporary),
                "this frees the space on a full disk; the caller gets the first error",
            );
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

/// Creates a directory unless it exists.
fn create(path: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        created => created.map_err(|error| failed("create", path, &error))?,
    }
    status(path).map(drop)
}

/// The status of a directory. A symbolic link is refused, even if it leads to a directory.
fn status(path: &Path) -> Result<fs::Metadata, String> {
    let status = fs::symlink_metadata(path).map_err(|error| failed("read", path, &error))?;
    if status.is_dir() { Ok(status) } else { Err(format!("{} is not a directory", path.display())) }
}

fn failed(action: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {action} {}: {}", path.display(), plain_io(error))
}
