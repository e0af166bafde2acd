//! The port of the Markdown files that mirror the memory, one for each scope.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::access::Trust;
use crate::clock::Timestamp;
use crate::ids::{MemoryChangeId, MemoryId};
use crate::store::{Memory, MemoryScope};

/// The memory, for the files that mirror it.
#[async_trait]
pub trait MemoryFiles: fmt::Debug + Send + Sync {
    /// The scopes with a change after this one. Change 0 stands for the beginning.
    async fn changed_scopes(&self, after: MemoryChangeId) -> Result<ChangedScopes>;

    /// The active memories of a scope, oldest first.
    async fn memories_of(&self, scope: &MemoryScope) -> Result<ScopeMemories>;

    /// Takes the edits of a person into the log, in one transaction, and returns them. Compares each
    /// entry with the text that the person was shown. A file that was taken in before has no edits.
    /// Durable when this returns.
    async fn take_in(&self, file: &EditedFile) -> Result<Vec<TakenEdit>>;

    /// Returns after a change of memories since the last call. Has one waiter.
    async fn memories_changed(&self);
}

/// The scopes whose files are out of date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedScopes {
    /// The scopes, in order.
    pub scopes: Vec<MemoryScope>,
    /// The newest change in the log, from which the next look continues.
    pub last: MemoryChangeId,
}

/// The memories of a scope at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeMemories {
    /// The active memories, oldest first.
    pub memories: Vec<Memory>,
    /// The last change of the scope that they include.
    pub last: ShownChange,
}

/// The last change of a scope that a file shows. The time tells whether a change of this number is
/// still the same one: a restored log uses the numbers of its lost part again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownChange {
    /// The change; 0 before the first one.
    pub id: MemoryChangeId,
    /// The time of the change.
    pub at: Timestamp,
}

impl ShownChange {
    /// Stands for the time before the first change.
    pub const NONE: Self = Self { id: MemoryChangeId(0), at: Timestamp(0) };
}

/// A file that a person may have edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    /// Each file shows one scope.
    pub scope: MemoryScope,
    /// The digest of the file's content, in hexadecimal.
    pub digest: String,
    /// The last change of the scope that the person was shown. A missing entry is not an edit if this is
    /// `None`, or if the log has no such change.
    pub shown_to: Option<ShownChange>,
    /// The entries, in order.
    pub entries: Vec<FileEntry>,
}

/// A memory as a person has left it in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The memory that the entry shows; `None` for a new one.
    pub shown: Option<ShownMemory>,
    /// The text, in the form of [`visible_text`].
    pub text: String,
}

/// The state of a memory that an entry shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownMemory {
    /// A log that was restored may lack it.
    pub id: MemoryId,
    /// Its number of changes.
    pub revision: u32,
    /// Its trust, which counts if the log has lost the memory.
    pub trust: Trust,
}

/// An edit that the log now contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenEdit {
    /// The new one, if the edit made one.
    pub memory: MemoryId,
    /// The kind of the edit.
    pub kind: TakenEditKind,
}

/// The result of comparing an entry with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenEditKind {
    /// The memory is new.
    Added,
    /// The memory has another text.
    Changed,
    /// The memory is forgotten.
    Forgotten,
    /// The memory is new: it has the person's version of another one, which was changed meanwhile.
    Conflict(MemoryId),
    /// The memory is kept although its entry is missing, because it was changed meanwhile.
    Kept,
}

/// Returns a text in the form in which files show it: without `\r`, spaces at the end of lines, and
/// empty lines around the text.
#[must_use]
pub fn visible_text(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Begins the text of a memory that conflicts with another one.
const CONFLICT: &str = "Conflict with ";

/// Returns the text of a memory that has a person's version of another one.
#[must_use]
pub fn conflict_text(with: MemoryId, text: &str) -> String {
    format!("{CONFLICT}{with}: {text}")
}

/// Returns the other memory, if a text is that of a conflict.
#[must_use]
pub fn conflicts_with(text: &str) -> Option<MemoryId> {
    text.strip_prefix(CONFLICT)?.split_once(": ")?.0.parse().ok()
}

#[cfg(test)]
#[path = "memory_files_tests.rs"]
mod tests;
