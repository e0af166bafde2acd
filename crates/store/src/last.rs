//! The `-last` file beside the database, which records the position of the log behind the last
//! transaction. A database with a lower position has lost transactions: its `-wal` was deleted or cut,
//! or an older copy was put in its place.
//!
//! The *position* of a log is the number of its newest event, plus the number of transactions that have
//! written `meta`. Each transaction that changes rows raises it: it adds an event, or writes `meta`.
//!
//! The file is written after each transaction without syncing, which costs one system call. It is
//! exact after a crash of the daemon. A power failure may lose the newest transactions without
//! damage, so then only the synced ones count. The file may record a lower position than that of the
//! log, but never a higher one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use avocet_protocol::clock::Timestamp;
use parking_lot::Mutex;

use crate::files::with_suffix;

const SUFFIX: &str = "-last";
/// Length in bytes, the same for every version, so that a write overwrites the previous content.
const LENGTH: usize = 160;

/// The known state of the database's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageState {
    /// The last check found no fault.
    Checked,
    /// No check has ended since the last crash.
    Unchecked,
    /// A page could not be read: the next start has to check first.
    Suspect,
}

impl PageState {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Checked, "checked"), (Self::Unchecked, "unchecked"), (Self::Suspect, "suspect")];

    fn as_word(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, word)| word)
    }

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
    }
}

/// The state of the pages while the database is open.
#[derive(Debug, Clone)]
pub(crate) struct SharedPageState(Arc<Mutex<PageState>>);

impl SharedPageState {
    pub(crate) fn new(state: PageState) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn get(&self) -> PageState {
        *self.0.lock()
    }

    pub(crate) fn set_state(&self, state: PageState) {
        *self.0.lock() = state;
    }

    /// Records the end of a check. A fault that was found meanwhile stays.
    pub(crate) fn note_checked(&self) {
        let mut state = self.0.lock();
        if *state == PageState::Unchecked {
            *state = PageState::Checked;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastTransaction {
    /// Id of the database (`meta.id`).
    pub(crate) id: String,
    pub(crate) epoch: i64,
    /// Position of the log behind it.
    pub(crate) position: i64,
    /// Position up to which the log is synced to disk.
    pub(crate) synced: i64,
    /// Time of the last commit.
    pub(crate) at: Timestamp,
    /// Id of the machine's boot at that time; empty if unknown.
    pub(crate) boot: String,
    pub(crate) pages: PageState,
}

impl LastTransaction {
    /// Reads the file; `None` if it is missing or unreadable.
    pub(crate) fn read(database: &Path) -> Option<Self> {
        let text = fs::read_to_string(with_suffix(database, SUFFIX)).ok()?;
        let mut words = text.trim_end().split(' ');
        let mut word = || words.next();
        let (id, epoch, position) = (word()?, word()?, word()?);
        let (synced, at) = (word()?, word()?);
        Some(Self {
            id: id.to_owned(),
            epoch: epoch.parse().ok()?,
            position: position.parse().ok()?,
            synced: synced.parse().ok()?,
            at: Timestamp(at.parse().ok()?),
            boot: word().unwrap_or_default().to_owned(),
            // An older version did not write it.
            pages: word().and_then(PageState::of_word).unwrap_or(PageState::Unchecked),
        })
    }

    /// Returns the lowest position that the database must have.
    pub(crate) fn expected_position(&self) -> i64 {
        let survived = !self.boot.is_empty() && self.boot == boot_id();
        if survived { self.position } else { self.synced }
    }

    pub(crate) fn remove_file(database: &Path) -> io::Result<()> {
        match fs::remove_file(with_suffix(database, SUFFIX)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The file while the database is open for writing.
#[derive(Debug)]
pub(crate) struct LastFile {
    file: File,
    last: LastTransaction,
    /// Replaces the state in `last`.
    pages: SharedPageState,
    /// `true` once a failed write was logged.
    complained: bool,
}

impl LastFile {
    /// Replaces the content of the file.
    pub(crate) fn begin_file(database: &Path, last: LastTransaction) -> io::Result<Self> {
        let pages = SharedPageState::new(last.pages);
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(with_suffix(database, SUFFIX))?;
        let begun = Self { file, last, pages, complained: false };
        begun.write()?;
        begun.file.set_len(LENGTH as u64)?;
        begun.file.sync_all()?;
        Ok(begun)
    }

    /// Returns the state of the pages, which each later note contains.
    pub(crate) fn page_state(&self) -> SharedPageState {
        self.pages.clone()
    }

    /// Records the commit of a transaction, behind which the log has this position.
    pub(crate) fn note_commit(&mut self, position: i64, synced: bool, at: Timestamp) {
        self.last.position = position;
        self.last.at = at;
        if synced {
            self.last.synced = position;
        }
        self.write_note();
    }

    /// Records that all transactions are synced.
    pub(crate) fn note_synced(&mut self) {
        self.last.synced = self.last.position;
        self.write_note();
    }

    /// Writes the file again.
    pub(crate) fn write_note(&mut self) {
        match self.write() {
            Err(error) if !self.complained => {
                tracing::warn!(
                    %error,
                    "the number of the last transaction cannot be noted; a later start may not see that \
                     transactions are missing"
                );
                self.complained = true;
            }
            _ => {}
        }
    }

    fn write(&self) -> io::Result<()> {
        let LastTransaction { id, epoch, position, synced, at, boot, .. } = &self.last;
        let pages = self.pages.get().as_word();
        let line = format!("{id} {epoch} {position} {synced} {} {boot} {pages}", at.0);
        let mut padded = line.into_bytes();
        padded.resize(padded.len().max(LENGTH - 1), b' ');
        padded.push(b'\n');
        self.file.write_all_at(&padded, 0)
    }
}

/// Returns Linux's id for this boot of the machine; empty if unknown.
pub(crate) fn boot_id() -> String {
    let read = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
#[path = "last_tests.rs"]
mod tests;
