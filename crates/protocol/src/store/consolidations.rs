//! The port of consolidations: runs in which a model tidies the memories of one scope.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Memory, MemoryScope, Result};
use crate::clock::Timestamp;
use crate::ids::{ConsolidationId, MemoryChangeId, MemoryId};

/// Consolidations of memories. A run begins before its request, and its edits are applied together
/// with its end.
#[async_trait]
pub trait Consolidations: fmt::Debug + Send + Sync {
    /// The scopes with memories that no run has covered since their last change, most memories
    /// first. Changes by consolidations do not count, nor do undone changes.
    async fn backlogs(&self) -> Result<Vec<Backlog>>;

    /// These memories of one scope, in the order of their last change.
    async fn backlog_of(&self, scope: &MemoryScope, limit: u32) -> Result<Vec<ChangedMemory>>;

    /// Active memories of a scope that share a word with `query`, best first. Excludes memories
    /// whose last change was undone by a person.
    async fn related_memories(
        &self,
        scope: &MemoryScope,
        query: &str,
        limit: u32,
    ) -> Result<Vec<Memory>>;

    /// Begins a run. Returns `None` if the limit of the day is reached. Durable when this returns.
    async fn begin_consolidation(&self, new: &NewConsolidation) -> Result<Option<ConsolidationId>>;

    /// Ends a run and applies its edits. An edit is left out if one of its memories has changed since
    /// it was read, or if it breaks a rule of [`MemoryEdit`]. Returns one result for each edit.
    /// Durable when this returns.
    async fn end_consolidation(
        &self,
        id: ConsolidationId,
        end: &ConsolidationEnd,
    ) -> Result<Vec<Result<Vec<MemoryChangeId>, EditRefused>>>;

    /// The last runs, newest first.
    async fn consolidations(&self, limit: u32) -> Result<Vec<Consolidation>>;

    /// The time of the last message of a person; `None` if there is none.
    async fn last_message(&self) -> Result<Option<Timestamp>>;

    /// Waits until a memory is written, changed or forgotten. A change since the last call ends the
    /// wait at once.
    async fn memories_changed(&self);
}

/// The memories of a scope that no run has covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// A scope has at most one backlog.
    pub scope: MemoryScope,
    /// Number of memories.
    pub memories: u64,
    /// The time at which the last run of the scope began, if it failed or never ended.
    pub failed_at: Option<Timestamp>,
}

/// A memory with its last change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedMemory {
    /// As it is now, after the change.
    pub memory: Memory,
    /// The newest change that no run has covered.
    pub change: MemoryChangeId,
}

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConsolidation {
    /// A run covers one scope.
    pub scope: MemoryScope,
    /// The beginning of the day whose runs count.
    pub day_start: Timestamp,
    /// The most runs of the day, this one included.
    pub most_runs: u32,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidationEnd {
    /// The outcome; other than [`ConsolidationState::Begun`].
    pub state: ConsolidationState,
    /// The run has covered the memories of the scope whose last change is at most this. `None` if
    /// later runs must read all of them again.
    pub covered_to: Option<MemoryChangeId>,
    /// Changes to the memories of the scope. Empty unless [`ConsolidationState::Done`].
    pub edits: Vec<MemoryEdit>,
    /// The reason of a failure.
    pub error: Option<String>,
}

/// A change to memories of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryEdit {
    /// The newest part gets the text, and the other parts are forgotten. All parts must have the same
    /// trust.
    Merge {
        /// Two memories or more.
        parts: Vec<MemoryVersion>,
        /// The text of all parts.
        text: String,
    },
    /// `old` is forgotten, because `new` contradicts it. `new` must be written later, and its trust
    /// must be at least that of `old`.
    Replace {
        /// The outdated memory.
        old: MemoryVersion,
        /// The memory that remains, without a change.
        new: MemoryVersion,
    },
    /// The memory gets a text with a date instead of words like "tomorrow".
    Date {
        /// The memory as it was read.
        memory: MemoryVersion,
        /// Has a date like 2026-11-24 that the old text lacks.
        text: String,
    },
}

impl MemoryEdit {
    /// In the order in which [`Self::check`] takes them.
    #[must_use]
    pub fn memories(&self) -> Vec<MemoryVersion> {
        match self {
            Self::Merge { parts, .. } => parts.clone(),
            Self::Replace { old, new } => vec![*old, *new],
            Self::Date { memory, .. } => vec![*memory],
        }
    }

    /// Checks the rules of the edit. `found` are its memories in the order of [`Self::memories`].
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, found: &[Memory]) -> Result<(), EditRefused> {
        let mut ids: Vec<MemoryId> = found.iter().map(|memory| memory.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let is_one = !matches!(self, Self::Date { .. }) && found.len() < 2;
        if is_one || ids.len() < found.len() {
            return Err(EditRefused::OneMemory);
        }
        match (self, found) {
            (Self::Merge { .. }, [first, others @ ..]) => {
                let differs = others.iter().find(|part| part.trust != first.trust);
                differs.map_or(Ok(()), |other| Err(EditRefused::Trust(first.id, other.id)))
            }
            (Self::Replace { .. }, [old, new]) if new.trust < old.trust => {
                Err(EditRefused::Trust(old.id, new.id))
            }
            (Self::Replace { .. }, [old, new])
                if new.source.written_at <= old.source.written_at =>
            {
                Err(EditRefused::Older { old: old.id, new: new.id })
            }
            _ => Ok(()),
        }
    }
}

/// A memory as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryVersion {
    /// The same in all revisions.
    pub id: MemoryId,
    /// An edit is refused if the memory has another one by then.
    pub revision: u32,
}

impl From<&Memory> for MemoryVersion {
    fn from(memory: &Memory) -> Self {
        Self { id: memory.id, revision: memory.revision }
    }
}

/// The reason why an edit was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditRefused {
    /// A memory has changed since it was read, or was forgotten.
    #[error("{0} has changed meanwhile")]
    Changed(MemoryId),
    /// A person undid the last change of a memory.
    #[error("the last change of {0} was undone")]
    Undone(MemoryId),
    /// A memory belongs to another scope.
    #[error("{0} belongs to another scope")]
    OtherScope(MemoryId),
    /// The memories differ in trust, or the newer one has less.
    #[error("{0} and {1} differ in trust")]
    Trust(MemoryId, MemoryId),
    /// The memory that would replace the other one is older.
    #[error("{new} is not newer than {old}")]
    Older {
        /// The memory that would be forgotten.
        old: MemoryId,
        /// The memory that would remain.
        new: MemoryId,
    },
    /// The parts of a merge are fewer than two, or the same memory.
    #[error("two different memories are needed")]
    OneMemory,
}

/// A run of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consolidation {
    /// Its number.
    pub id: ConsolidationId,
    /// The scope.
    pub scope: MemoryScope,
    /// The time at which it began.
    pub began_at: Timestamp,
    /// Its outcome.
    pub state: ConsolidationState,
    /// Number of applied edits.
    pub applied: u64,
    /// The reason of a failure.
    pub error: Option<String>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConsolidationState {
    /// It runs, or the process died.
    Begun,
    /// Its edits are applied.
    Done,
    /// Its edits were shown only.
    Shown,
    /// It failed, and nothing has changed.
    Failed,
}

impl ConsolidationState {
    /// In the order of declaration.
    pub const ALL: [Self; 4] = [Self::Begun, Self::Done, Self::Shown, Self::Failed];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Shown => "shown",
            Self::Failed => "failed",
        }
    }
}
