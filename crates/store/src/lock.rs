//! One process at a time owns the log: a file lock that is held for life and says who holds it.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use avocet_protocol::Clock;

use crate::OpenError;

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

/// The lock; given up when dropped, and by the system when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// How long a starting daemon waits for a command.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Lock {
    /// Takes the lock of a data directory. Waits for a command that holds it, not for a daemon.
    pub(crate) async fn take(
        directory: &Path,
        holder: Holder,
        clock: &dyn Clock,
    ) -> Result<Self, OpenError> {
        let path = directory.join("avocet.lock");
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
        Ok(Self { _file: file })
    }
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
