//! One process at a time owns the log: a file lock that is held for life and says who holds it.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use avocet_protocol::{Clock, StoreError};

use crate::OpenError;
use crate::identity::Identity;

/// Who opens the log, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A daemon, for life.
    Daemon,
    /// A command, for a moment: a daemon that starts waits for it.
    Command,
}

impl Holder {
    fn word(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Command => "command",
        }
    }
}

/// The lock of a data directory. It is released when it is dropped, and by the system when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    identity: Identity,
}

const FILE: &str = "avocet.lock";

/// How long a starting daemon waits for a command.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Lock {
    /// Makes the data directory if there is none, readable by its owner alone, and takes its lock. Waits at most
    /// ten seconds for a command that holds it, and never for a daemon.
    ///
    /// # Errors
    /// [`OpenError::Locked`] names the process that holds it; [`OpenError::Directory`] if the directory cannot be
    /// used.
    pub async fn take(
        directory: &Path,
        holder: Holder,
        clock: &dyn Clock,
    ) -> Result<Self, OpenError> {
        make_directory(directory)?;
        let path = directory.join(FILE);
        let unusable = |error| OpenError::Directory { path: path.clone(), error };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unusable)?;
        let began = clock.elapsed();
        // The first answer may still be that of a process that died.
        for look in 0.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let other = Held::read(&mut file);
            let patient = other.word == Holder::Command.word() || other.pid.is_empty();
            let waited = clock.elapsed().saturating_sub(began);
            if look > 0 && !patient || waited >= PATIENCE {
                return Err(OpenError::Locked {
                    path: directory.to_owned(),
                    holder: other.to_string(),
                });
            }
            clock.sleep(LOOK_AGAIN).await;
        }
        write_holder(&mut file, holder).map_err(unusable)?;
        let identity = Identity::of(&path).map_err(unusable)?;
        Ok(Self { _file: file, identity })
    }

    /// Whether another process holds the lock of a data directory now.
    pub(crate) fn is_held(directory: &Path) -> bool {
        let file = File::open(directory.join(FILE));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Whether the lock file is still the one that is locked: otherwise a second daemon can start.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.identity.check()
    }
}

fn make_directory(directory: &Path) -> Result<(), OpenError> {
    let unusable = |error| OpenError::Directory { path: directory.to_owned(), error };
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

fn write_holder(file: &mut File, holder: Holder) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{} {}", std::process::id(), holder.word())
}

/// Who the lock file says holds it. Empty for the moment between locking and writing.
struct Held {
    pid: String,
    word: String,
}

impl Held {
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

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid.as_str(), self.word.as_str()) {
            ("", _) => f.write_str("another process"),
            (pid, word) => write!(f, "process {pid} ({word})"),
        }
    }
}
