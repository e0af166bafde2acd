//! The scopes of the long-term memory, and the rules of who reads and writes them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Asker, PersonId, Role};
use crate::chat::{ChatKind, SessionId};
use crate::ids::IdError;

/// The readers of a memory. Written as `person telegram:main:7`, `chat telegram:main:-100` or
/// `everyone`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// Leaves out the person or the session.
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

    /// Returns the scope of this kind that a turn may write. Without a kind: the person in a
    /// private chat, the chat in a group.
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
        let word = self.kind().as_str();
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
            None if text == ScopeKind::Everyone.as_str() => Ok(Self::Everyone),
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

/// A scope without its person or session.
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
    pub fn as_str(self) -> &'static str {
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
    /// An empty list includes no scope.
    Only(Vec<MemoryScope>),
}

impl ScopeFilter {
    /// Returns `true` if the filter includes a scope.
    #[must_use]
    pub fn includes_scope(&self, scope: &MemoryScope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(scope),
        }
    }
}

#[cfg(test)]
#[path = "memory_scope_tests.rs"]
mod tests;
