//! The port of the long-term memory.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::access::{PersonId, Trust};
use crate::chat::SessionId;
use crate::clock::Timestamp;
use crate::ids::{CallId, MemoryChangeId, MemoryId, MessageId, TurnId};
use crate::store::{MemoryScope, ScopeFilter};

/// The long-term memory. Tools write it through [`LogWrite`](crate::tool::LogWrite). Each change is kept
/// together with the text before it.
#[async_trait]
pub trait Memories: fmt::Debug + Send + Sync {
    /// Memories that match a word of `query`, best first; the newest if `query` has no word.
    /// Excludes forgotten memories.
    async fn search_memories(
        &self,
        scopes: &ScopeFilter,
        query: &str,
        limit: u32,
    ) -> Result<Vec<FoundMemory>>;

    /// One memory; forgotten ones too.
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>>;

    /// The memory of a scope with the same words in the same order, without regard to case, accents
    /// and punctuation.
    async fn same_memory(&self, scope: &MemoryScope, text: &str) -> Result<Option<Memory>>;

    /// For each word of [`index_text`](avocet_text::index_text), the number of memories of all scopes that
    /// contain it.
    async fn memory_words(&self, words: &[String]) -> Result<WordCounts>;

    /// The changes of one memory, or of all memories of these scopes, newest first.
    async fn memory_changes(
        &self,
        scopes: &ScopeFilter,
        memory: Option<MemoryId>,
        limit: u32,
    ) -> Result<Vec<MemoryChange>>;

    /// Writes a memory of a person, or returns the active one of the scope with the same words.
    /// Durable when this returns.
    async fn write_memory(&self, new: &NewMemory, author: &MemoryAuthor) -> Result<WrittenMemory>;

    /// Forgets a memory. Its changes are kept, so that this can be undone. Returns `false` if no
    /// such memory is active. Durable when this returns.
    async fn forget_memory(&self, id: MemoryId, author: &MemoryAuthor) -> Result<bool>;

    /// Restores the state before a change. Durable when this returns.
    async fn undo_memory_change(
        &self,
        change: MemoryChangeId,
        author: &MemoryAuthor,
    ) -> Result<UndoneChange>;
}

/// A fact in the long-term memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Its number.
    pub id: MemoryId,
    /// Its readers.
    pub scope: MemoryScope,
    /// The text.
    pub text: String,
    /// The trust of the request in which it was written.
    pub trust: Trust,
    /// The origin of its first text.
    pub source: MemorySource,
    /// Number of changes, from 1.
    pub revision: u32,
    /// `true` if it is forgotten.
    pub forgotten: bool,
}

/// The most bytes of a memory: a thought, not a file.
pub const MAX_MEMORY_BYTES: usize = 2 * 1024;

/// A memory that a person writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMemory {
    /// Its readers.
    pub scope: MemoryScope,
    /// The text, of at most [`MAX_MEMORY_BYTES`].
    pub text: String,
    /// The trust of its author.
    pub trust: Trust,
    /// The conversation; `None` outside of chats.
    pub session: Option<SessionId>,
    /// The author; `None` for the operator.
    pub said_by: Option<PersonId>,
}

/// The result of writing a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenMemory {
    /// The memory with this text.
    pub memory: Memory,
    /// `false` if it was known before.
    pub is_new: bool,
}

/// The origin of a memory. A part is `None` if it is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySource {
    /// The conversation.
    pub session: Option<SessionId>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The last message of the person before the memory was written.
    pub message: Option<MessageId>,
    /// The author of that message.
    pub said_by: Option<PersonId>,
    /// The time of writing.
    pub written_at: Timestamp,
}

/// A memory that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundMemory {
    /// Active when it was found.
    pub memory: Memory,
    /// The rank by bm25: higher is better. 0 without a query, and if no word matches.
    pub score: f64,
    /// The cosine of the angle between its vector and that of the query; `None` if they were not
    /// compared.
    pub similarity: Option<f64>,
}

/// Frequencies of words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordCounts {
    /// The number of memories.
    pub memories: u64,
    /// The number of memories that contain each word, in the order of the request.
    pub containing: Vec<u64>,
}

/// A change of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryChange {
    /// Its number, in the order of all changes.
    pub id: MemoryChangeId,
    /// The changed memory.
    pub memory: MemoryId,
    /// The scope of the memory.
    pub scope: MemoryScope,
    /// The time of the change.
    pub at: Timestamp,
    /// The author of the change.
    pub author: MemoryAuthor,
    /// The kind of the change.
    pub kind: MemoryChangeKind,
    /// The text before; `None` if the memory was absent.
    pub before: Option<MemoryText>,
    /// The text after; `None` if the memory is absent since.
    pub after: Option<MemoryText>,
}

/// A text of a memory at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryText {
    /// The text.
    pub text: String,
    /// Its trust.
    pub trust: Trust,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryChangeKind {
    /// The memory has a new text. It is new itself if it had no text before.
    Written,
    /// The memory is forgotten.
    Forgotten,
    /// An earlier change is undone.
    Undone,
}

impl MemoryChangeKind {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Written, Self::Forgotten, Self::Undone];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Forgotten => "forgotten",
            Self::Undone => "undone",
        }
    }
}

/// The author of a change. Written as `call t4s1c0`, `person telegram:main:7`, `file DIGEST`,
/// `consolidation` or `process`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum MemoryAuthor {
    /// A tool call.
    Call(CallId),
    /// A person, by a command in a chat.
    Person(PersonId),
    /// A person, by editing a Markdown file of the memory. The digest is that of the edited file.
    File(String),
    /// A consolidation, with the words of a model.
    Consolidation,
    /// The command line, or the program itself.
    Process,
}

impl fmt::Display for MemoryAuthor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => write!(f, "call {call}"),
            Self::Person(person) => write!(f, "person {person}"),
            Self::File(digest) => write!(f, "file {digest}"),
            Self::Consolidation => f.write_str("consolidation"),
            Self::Process => f.write_str("process"),
        }
    }
}

impl FromStr for MemoryAuthor {
    type Err = BadAuthor;

    fn from_str(text: &str) -> Result<Self, BadAuthor> {
        let bad = || BadAuthor(text.chars().take(64).collect());
        match text.split_once(' ') {
            Some(("call", call)) => call.parse().map(Self::Call).map_err(|_| bad()),
            Some(("person", person)) => person.parse().map(Self::Person).map_err(|_| bad()),
            Some(("file", digest)) if is_digest(digest) => Ok(Self::File(digest.to_owned())),
            None if text == "consolidation" => Ok(Self::Consolidation),
            None if text == "process" => Ok(Self::Process),
            _ => Err(bad()),
        }
    }
}

fn is_digest(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl TryFrom<String> for MemoryAuthor {
    type Error = BadAuthor;
    fn try_from(text: String) -> Result<Self, BadAuthor> {
        text.parse()
    }
}

impl From<MemoryAuthor> for String {
    fn from(author: MemoryAuthor) -> Self {
        author.to_string()
    }
}

/// A text that names no author of a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the author of a change")]
pub struct BadAuthor(String);

/// The result of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UndoneChange {
    /// The memory is as before the change.
    Done(Box<Memory>),
    /// No change has this number.
    Unknown,
    /// The memory was changed again by this change, which has to be undone first.
    ChangedSince(MemoryChangeId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_author_parses_its_own_words_only() {
        for good in ["call t4s1c0", "person telegram:main:7", "file 0aF9", "process"] {
            assert_eq!(good.parse::<MemoryAuthor>().unwrap().to_string(), good);
        }
        for bad in ["", "call", "call 4", "person x", "processes", "file", "file ", "file x"] {
            bad.parse::<MemoryAuthor>().unwrap_err();
        }
    }
}
