//! The port of the long-term memory, and the rules of its scopes.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::{
    Asker, CallId, ChatKind, IdError, MemoryChangeId, MemoryId, MessageId, PersonId, Role,
    SessionId, Timestamp, Trust, TurnId,
};

/// The long-term memory. Tools write it through [`LogWrite`](crate::LogWrite). Each change is kept
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

    /// For each word of [`index_text`](crate::index_text), the number of memories of all scopes that
    /// contain it.
    async fn memory_words(&self, words: &[String]) -> Result<WordCounts>;

    /// The changes of one memory, or of all memories of these scopes, newest first.
    async fn memory_changes(
        &self,
        scopes: &ScopeFilter,
        memory: Option<MemoryId>,
        limit: u32,
    ) -> Result<Vec<MemoryChange>>;

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

/// The readers of a memory. Written as `person telegram:main:7`, `chat telegram:main:-100` or
/// `everyone`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MemoryScope {
    /// One person, in private chats.
    Person(PersonId),
    /// The conversation of one chat.
    Chat(SessionId),
    /// All conversations.
    Everyone,
}

impl MemoryScope {
    /// The kind of the scope.
    #[must_use]
    pub fn kind(&self) -> ScopeKind {
        match self {
            Self::Person(_) => ScopeKind::Person,
            Self::Chat(_) => ScopeKind::Chat,
            Self::Everyone => ScopeKind::Everyone,
        }
    }

    /// The scopes that a turn may read. A group never reads the memory of a person.
    #[must_use]
    pub fn readable(asker: Option<&Asker>) -> Vec<Self> {
        let mut scopes = Vec::new();
        if let Some(asker) = asker {
            if asker.chat == ChatKind::Private {
                scopes.push(Self::Person(asker.person.clone()));
                let linked = asker.linked.iter().filter(|linked| **linked != asker.person);
                scopes.extend(linked.cloned().map(Self::Person));
            }
            scopes.push(Self::Chat(asker.session.clone()));
        }
        scopes.push(Self::Everyone);
        scopes
    }

    /// The scope that a turn writes if it wants this kind, or by default: the person in a private
    /// chat, the chat in a group.
    ///
    /// # Errors
    /// [`ScopeRefused`], written for the model.
    pub fn writable(
        asker: Option<&Asker>,
        role: Role,
        wanted: Option<ScopeKind>,
    ) -> Result<Self, ScopeRefused> {
        let asker = asker.ok_or(ScopeRefused::NoAsker)?;
        let default = match asker.chat {
            ChatKind::Private => ScopeKind::Person,
            ChatKind::Group => ScopeKind::Chat,
        };
        match (wanted.unwrap_or(default), asker.chat) {
            (ScopeKind::Person, ChatKind::Private) => Ok(Self::Person(asker.person.clone())),
            (ScopeKind::Person, ChatKind::Group) => Err(ScopeRefused::PersonInGroup),
            (ScopeKind::Chat, _) => Ok(Self::Chat(asker.session.clone())),
            (ScopeKind::Everyone, _) if role == Role::Owner => Ok(Self::Everyone),
            (ScopeKind::Everyone, _) => Err(ScopeRefused::EveryoneByUser),
        }
    }

    /// Checks that a turn may change a memory of this scope.
    ///
    /// # Errors
    /// [`ScopeRefused`], written for the model.
    pub fn check_change(&self, asker: Option<&Asker>, role: Role) -> Result<(), ScopeRefused> {
        if asker.is_none() {
            return Err(ScopeRefused::NoAsker);
        }
        match self {
            Self::Everyone if role < Role::Owner => Err(ScopeRefused::EveryoneByUser),
            scope if Self::readable(asker).contains(scope) => Ok(()),
            _ => Err(ScopeRefused::OtherScope),
        }
    }
}

impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.kind().word();
        match self {
            Self::Person(person) => write!(f, "{word} {person}"),
            Self::Chat(session) => write!(f, "{word} {session}"),
            Self::Everyone => f.write_str(word),
        }
    }
}

impl FromStr for MemoryScope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        match text.split_once(' ') {
            Some(("person", person)) => Ok(Self::Person(person.parse()?)),
            Some(("chat", session)) => Ok(Self::Chat(session.parse()?)),
            None if text == ScopeKind::Everyone.word() => Ok(Self::Everyone),
            _ => Err(BadScope::Form(text.chars().take(64).collect())),
        }
    }
}

impl TryFrom<String> for MemoryScope {
    type Error = BadScope;
    fn try_from(text: String) -> Result<Self, BadScope> {
        text.parse()
    }
}

impl From<MemoryScope> for String {
    fn from(scope: MemoryScope) -> Self {
        scope.to_string()
    }
}

/// The kind of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// See [`MemoryScope::Person`].
    Person,
    /// See [`MemoryScope::Chat`].
    Chat,
    /// See [`MemoryScope::Everyone`].
    Everyone,
}

impl ScopeKind {
    /// The word in the log, in tool arguments and in CLI output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Chat => "chat",
            Self::Everyone => "everyone",
        }
    }
}

/// A text that is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadScope {
    /// The first word is unknown, or the rest is missing.
    #[error(
        "{0:?} is not a scope; write `person CHANNEL:ACCOUNT:SENDER`, `chat SESSION` or `everyone`"
    )]
    Form(String),
    /// The person or the session is malformed.
    #[error(transparent)]
    Id(#[from] IdError),
}

/// The reason why a turn may not write a memory, for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeRefused {
    /// The turn has no message of a person.
    #[error("no person asked for this, so the memory is read only here")]
    NoAsker,
    /// The chat is a group, and its other members would read it.
    #[error("this is a group; use the scope chat here, and the scope person in a private chat")]
    PersonInGroup,
    /// The asker is not an owner.
    #[error("only owners may write for everyone here; use another scope")]
    EveryoneByUser,
    /// The memory belongs to another person or chat.
    #[error("it belongs to another conversation")]
    OtherScope,
}

/// A selection of scopes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeFilter {
    /// All scopes, for the operator.
    All,
    /// These scopes only.
    Only(Vec<MemoryScope>),
}

impl ScopeFilter {
    /// Returns `true` if the filter includes a scope.
    #[must_use]
    pub fn includes(&self, scope: &MemoryScope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(scope),
        }
    }
}

/// A fact in the long-term memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// The origin of a memory. A part is `None` if it is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The memory.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryText {
    /// The text.
    pub text: String,
    /// Its trust.
    pub trust: Trust,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryChangeKind {
    /// The memory is new, or has a new text.
    Written,
    /// The memory is forgotten.
    Forgotten,
    /// An earlier change is undone.
    Undone,
}

impl MemoryChangeKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Written, Self::Forgotten, Self::Undone];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Forgotten => "forgotten",
            Self::Undone => "undone",
        }
    }
}

/// The author of a change. Written as `call t4s1c0`, `person telegram:main:7`, `consolidation` or
/// `process`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MemoryAuthor {
    /// A tool call.
    Call(CallId),
    /// A person, by a command in a chat.
    Person(PersonId),
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
            None if text == "consolidation" => Ok(Self::Consolidation),
            None if text == "process" => Ok(Self::Process),
            _ => Err(bad()),
        }
    }
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
#[path = "memories_tests.rs"]
mod tests;
