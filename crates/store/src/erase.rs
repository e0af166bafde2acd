//! Erases a person, a conversation or a memory: `avocet people erase`, `avocet sessions erase` and
//! `avocet memory erase`. The daemon is stopped.
//!
//! ```text
//! prepare   a copy of the log beside it, without the erased rows and texts; nothing else changes
//! note      the file `avocet.db-erase`: the hash of the row that proves the erasure, and the files to remove
//! swap      the copy takes the place of the log in one step
//! finish    the files and the note are removed
//! ```
//!
//! **A crash changes nothing or is made up for.** Before the swap, the log is as it was, and the
//! next start removes the copy. After it, the next start finds the row of the note in the log, and
//! removes the files.
//!
//! **Nothing is left in the file.** The copy is written row by row into an empty file (`VACUUM
//! INTO`), so it has no free pages. The full-text indices are emptied and filled again, because
//! FTS5 keeps the words of deleted rows.
//!
//! `subject` selects the rows, `remove` removes or blanks them, `sweep` replaces repetitions of erased
//! memories, and `repeated` those of messages in answers to other people. A test lists how each column with text is handled.

mod note;
mod remove;
mod repeated;
mod subject;
mod sweep;

use std::fs;
use std::path::{Path, PathBuf};

use avocet_protocol::access::PersonId;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::MemoryId;
use avocet_supervise::fail_point::{FailMoment, pass_fail_point};
use avocet_text::Redactor;
use jiff::tz::TimeZone;
use rusqlite::Connection;
use serde::Serialize;

use crate::binding::WalState;
use crate::copy::{CopyError, check_room, largest_copy_bytes, write_copy};
use crate::error::{store_error, unusable_path};
use crate::files::{DATABASE, put_in_place, remove_with_journal, sync_directory, with_suffix};
use crate::precheck::look_at_files;
use crate::tx::{ChangeMarks, Db, Result, Tx};
use crate::{DirectoryLock, OpenError, audit, damage};

use note::EraseNote;
pub(crate) use note::finish_erasure;
pub(crate) use subject::{BY_PERSON, person_key};
pub use subject::{ErasedIds, near_people};

/// File name suffix of the copy from which rows are erased.
const COPY: &str = ".erase-copy";
/// File name suffix of the copy that becomes the log.
const ERASED: &str = ".erased";

/// The owner of the texts to erase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EraseSubject {
    /// A memory with its changes.
    Memory(MemoryId),
    /// A conversation with its sub-agents, jobs and memories.
    Session(SessionId),
    /// Everything of a person.
    Person(PersonId),
}

/// The number of erased rows of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ErasedCounts {
    /// Conversations that are removed as a whole.
    pub sessions: u64,
    /// Turns of these conversations.
    pub turns: u64,
    /// Messages to the agent that are removed.
    pub messages: u64,
    /// Messages in shared conversations whose text is replaced.
    pub replaced: u64,
    /// Memories with their changes.
    pub memories: u64,
    /// Schedules, which end.
    pub schedules: u64,
    /// Rules of the owners for this person or conversation.
    pub rules: u64,
    /// Entries of the person among the admitted people, the pairing codes and the links.
    pub access: u64,
    /// Audit rows that lose their text and keep its digest.
    pub audit: u64,
    /// Other places that repeated an erased text.
    pub repeated: u64,
}

/// The reason why nothing was erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The log has nothing of the subject.
    #[error("the log has nothing of it")]
    Unknown,
    /// The conversation is one of a sub-agent, which goes with the one that began it.
    #[error("it belongs to a sub-agent; erase the conversation that began it")]
    OfTask,
    /// A turn in a shared conversation still works on a message of the person.
    #[error(
        "a turn in {0} still works on a message of this person; start the daemon, end the turn with /stop there, and repeat the command"
    )]
    Busy(SessionId),
    /// Copying or opening the log failed.
    #[error(transparent)]
    Copy(#[from] CopyError),
}

impl<E: Into<OpenError>> From<E> for EraseError {
    fn from(error: E) -> Self {
        Self::Copy(CopyError::Open(error.into()))
    }
}

/// An erasure that is ready. Dropping it changes nothing.
#[derive(Debug)]
pub struct PreparedErasure {
    path: PathBuf,
    proof: String,
    counts: ErasedCounts,
    ids: ErasedIds,
}

impl Drop for PreparedErasure {
    fn drop(&mut self) {
        remove_copies(&self.path);
    }
}

/// Prepares an erasure in the log of a stopped daemon: makes a copy of the log without the texts.
/// Blocks.
///
/// # Errors
/// [`EraseError`]; nothing has changed then.
pub fn prepare_erasure(
    _lock: &DirectoryLock,
    directory: &Path,
    subject: &EraseSubject,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<PreparedErasure, EraseError> {
    let path = directory.join(DATABASE);
    if !path.exists() {
        return Err(CopyError::NoLog(directory.to_owned()).into());
    }
    let not_whole = |detail| CopyError::NotWhole { path: path.clone(), detail };
    match look_at_files(&path).map_err(|error| unusable_path(&path, error))? {
        Ok(WalState::Nothing) => {}
        Ok(WalState::Wal { .. }) => {
            let detail = "its -wal was not emptied at the last stop; start the daemon and stop it";
            return Err(not_whole(detail.to_owned()).into());
        }
        Err(detail) => return Err(not_whole(detail).into()),
    }
    // Removes the copies if a step fails.
    let mut prepared = PreparedErasure {
        path,
        proof: String::new(),
        counts: ErasedCounts::default(),
        ids: ErasedIds::default(),
    };
    prepared.make_copy(subject, redactor, now)?;
    Ok(prepared)
}

impl PreparedErasure {
    /// The number of rows that go.
    #[must_use]
    pub fn counts(&self) -> &ErasedCounts {
        &self.counts
    }

    /// The numbers and names by which files of the erased rows are found.
    #[must_use]
    pub fn ids(&self) -> &ErasedIds {
        &self.ids
    }

    fn make_copy(
        &mut self,
        subject: &EraseSubject,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<(), EraseError> {
        let (copy, erased) = (with_suffix(&self.path, COPY), with_suffix(&self.path, ERASED));
        let source =
            Connection::open(&self.path).map_err(|error| store_error(&self.path, &error))?;
        let bytes = largest_copy_bytes(&source, &self.path)?;
        check_room(bytes.saturating_mul(2), &copy)?;
        write_copy(&source, &copy)?;
        drop(source);
        let connection = Connection::open(&copy).map_err(|error| store_error(&copy, &error))?;
        self.erase_rows(&connection, &copy, subject, redactor, now)?;
        // 2 is INCREMENTAL; it takes effect in the next copy.
        connection
            .pragma_update(None, "auto_vacuum", 2)
            .map_err(|error| store_error(&copy, &error))?;
        write_copy(&connection, &erased)?;
        drop(connection);
        remove_with_journal(&copy);
        let made = Connection::open(&erased).map_err(|error| store_error(&erased, &error))?;
        match damage::find_thoroughly(Db { connection: &made, path: &erased })? {
            None => Ok(()),
            Some(detail) => Err(CopyError::NotWhole { path: erased, detail }.into()),
        }
    }

    /// Erases in one transaction of the copy.
    fn erase_rows(
        &mut self,
        connection: &Connection,
        path: &Path,
        subject: &EraseSubject,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<(), EraseError> {
        let db = Db { connection, path };
        let error = |error| store_error(path, &error);
        for (name, value) in
            [("temp_store", "MEMORY"), ("journal_mode", "MEMORY"), ("foreign_keys", "ON")]
        {
            connection.pragma_update(None, name, value).map_err(error)?;
        }
        let changed = &ChangeMarks::default();
        let tx =
            Tx { db, epoch: db.current_epoch()?, now, redactor, zone: &TimeZone::UTC, changed };
        let transaction = connection.unchecked_transaction().map_err(error)?;
        subject::select_rows(&tx, subject)?;
        self.ids = subject::read_ids(db)?;
        self.counts = remove::remove_rows(&tx, subject)?;
        if self.counts == ErasedCounts::default() {
            return Err(EraseError::Unknown);
        }
        audit::record_erased(&tx, describe_erasure(subject, &self.counts))?;
        self.proof =
            db.query_one("SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1", (), |row| {
                row.get(0)
            })?;
        tx.change_rows("UPDATE meta SET commits = commits + 1 WHERE only = 1", ())?;
        transaction.commit().map_err(error)?;
        Ok(())
    }

    /// Puts the copy in the place of the log and removes these files. A crash in between changes
    /// nothing, or the next start of any process goes on. Blocks.
    ///
    /// # Errors
    /// [`EraseError`]; the next start goes on, or nothing has changed.
    pub fn commit(self, files: Vec<PathBuf>) -> Result<(), EraseError> {
        self.swap(files)?;
        finish_erasure(&self.path)?;
        Ok(())
    }

    fn swap(&self, files: Vec<PathBuf>) -> Result<(), EraseError> {
        EraseNote { proof: self.proof.clone(), files }.write(&self.path)?;
        pass_fail_point("erase", FailMoment::Before);
        for suffix in ["-wal", "-shm"] {
            remove_if_there(&with_suffix(&self.path, suffix))?;
        }
        put_in_place(&with_suffix(&self.path, ERASED), &self.path)?;
        pass_fail_point("erase", FailMoment::After);
        Ok(())
    }
}

/// Removes the copies of an erasure.
pub(crate) fn remove_copies(path: &Path) {
    for suffix in [COPY, ERASED] {
        remove_with_journal(&with_suffix(path, suffix));
    }
}

fn remove_if_there(path: &Path) -> Result<(), OpenError> {
    match fs::remove_file(path) {
        Ok(()) => sync_directory(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unusable_path(path, error)),
    }
}

/// Describes an erasure for the audit table, without the name of its subject.
fn describe_erasure(subject: &EraseSubject, counts: &ErasedCounts) -> String {
    let what = match subject {
        EraseSubject::Memory(memory) => format!("memory {memory}"),
        EraseSubject::Session(_) => "a conversation".to_owned(),
        EraseSubject::Person(_) => "a person".to_owned(),
    };
    let ErasedCounts { messages, replaced, memories, audit, .. } = counts;
    format!(
        "{what}: {messages} messages removed, {replaced} replaced, {memories} memories, {audit} audit rows"
    )
}

#[cfg(test)]
#[path = "erase_tests.rs"]
mod tests;
