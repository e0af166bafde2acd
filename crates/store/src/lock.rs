//! The file lock that lets only one process write the log. The lock file names its holder.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::store::StoreError;

use crate::OpenError;
use crate::error::unusable_path;
use crate::identity::OpenFileIdentity;

/// The kind of process that opens the log for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogHolder {
    /// A daemon, which holds the lock until it stops.
    Daemon,
    /// A command, which holds the lock briefly; a starting daemon waits for it.
    Command,
}

impl LogHolder {
    fn as_word(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Command => "command",
        }
    }
}

/// The lock of a data directory. The system releases it when this value is dropped or the process
/// dies.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
    identity: OpenFileIdentity,
}

const FILE: &str = "avocet.lock";

/// Longest wait for a command that holds the lock.
const MAX_WAIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl DirectoryLock {
    /// Takes the lock of the data directory, which is created for its owner only if it is missing.
    /// Waits up to ten seconds for a command that holds the lock, but fails at once for a daemon.
    ///
    /// # Errors
    /// [`OpenError::Locked`] names the holder; [`OpenError::Directory`] if the directory is
    /// unusable, and [`OpenError::Store`] if its disk is full or read-only.
    pub async fn take_lock(
        directory: &Path,
        holder: LogHolder,
        clock: &dyn Clock,
    ) -> Result<Self, OpenError> {
        make_directory(directory)?;
        let path = directory.join(FILE);
        let unusable = |error| unusable_path(&path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unusable)?;
        let began = clock.elapsed();
        // The text read first may be from a process that has died.
        for look in 0.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let other = LockFileHolder::read(&mut file);
            let is_brief = other.word == LogHolder::Command.as_word() || other.pid.is_empty();
            let waited = clock.elapsed().saturating_sub(began);
            if look > 0 && !is_brief || waited >= MAX_WAIT {
                return Err(OpenError::Locked {
                    path: directory.to_owned(),
                    holder: other.to_string(),
                });
            }
            clock.sleep(LOOK_AGAIN).await;
        }
        write_holder(&mut file, holder).map_err(unusable)?;
        let identity = OpenFileIdentity::from_path(&path).map_err(unusable)?;
        Ok(Self { _file: file, identity })
    }

    /// Returns `true` if another process holds the lock of a data directory now.
    pub(crate) fn is_held(directory: &Path) -> bool {
        let file = File::open(directory.join(FILE));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Fails if the lock file was deleted or replaced, because a second daemon could start then.
    pub(crate) fn check_lock(&self) -> Result<(), StoreError> {
        self.identity.check_identity()
    }
}

fn make_directory(directory: &Path) -> Result<(), OpenError> {
    let unusable = |error| unusable_path(directory, error);
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => return Err(unusable(ErrorKind::NotADirectory.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unusable(error)),
    }
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory).map_err(unusable)
}

fn write_holder(file: &mut File, holder: LogHolder) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{} {}", std::process::id(), holder.as_word())
}

/// The holder that the lock file names. Empty for the moment between locking and writing.
struct LockFileHolder {
    pid: String,
    word: String,
}

impl LockFileHolder {
    fn read(file: &mut File) -> Self {
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        let (pid, word) = match read {
            Ok(_) => text.split_once(' ').unwrap_or_default(),
            Err(_) => ("", ""),
        };
        Self { pid: pid.to_owned(), word: word.to_owned() }
    }
}

impl fmt::Display for LockFileHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid.as_str(), self.word.as_str()) {
            ("", _) => f.write_str("another process"),
            (pid, word) => write!(f, "process {pid} ({word})"),
        }
    }
}
