//! The ports of who may speak: where that is kept, who lets people in, and which role words have.

use std::fmt;

use async_trait::async_trait;

use crate::{
    ChatAddress, ChatLink, Decision, IdError, Inbound, NoDestination, Pairing, PairingCode, Person,
    PersonId, Planned, Role, SenderId, SessionId, StoreError, Timestamp,
};

/// Who was let in, as the log keeps it.
#[async_trait]
pub trait People: fmt::Debug + Send + Sync {
    /// Everything that is known.
    async fn known(&self) -> Result<Known, StoreError>;

    /// Keeps a code together with what is said about it: the stranger's hint, the owners' notices.
    /// Codes that were given out before `forget` are forgotten.
    async fn offer(
        &self,
        pairing: &Pairing,
        said: &[Planned],
        forget: Timestamp,
    ) -> Result<(), StoreError>;

    /// Decides about a code and says so in the stranger's chat. False if it can no longer be
    /// decided: it was, or it has expired. Durable when this returns.
    async fn decide(&self, settled: &SettledPairing) -> Result<bool, StoreError>;

    /// Strikes somebody off, with the person's codes, private chats and their links. False if
    /// nobody like this was let in. Durable when this returns.
    async fn strike_off(&self, person: &PersonId) -> Result<bool, StoreError>;

    /// Remembers that a person who may speak writes in this chat in private. It is that person's from
    /// then on, whoever else presses a button in it.
    async fn meet(&self, chat: &ChatAddress, sender: &SenderId) -> Result<(), StoreError>;

    /// Lets a chat speak in another's session. Durable when this returns.
    async fn link(&self, link: &ChatLink) -> Result<(), StoreError>;

    /// Gives a chat its own session back. False if it has it. Durable when this returns.
    async fn unlink(&self, chat: &ChatAddress) -> Result<bool, StoreError>;
}

/// Everything that the log knows of people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Who was let in, by their ids.
    pub people: Vec<Person>,
    /// The codes that were given out lately, oldest first.
    pub pairings: Vec<Pairing>,
    /// Chats that speak in another's session.
    pub links: Vec<ChatLink>,
    /// Where people who may speak write in private.
    pub chats: Vec<(ChatAddress, SenderId)>,
}

/// A code about which an owner has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledPairing {
    /// The code.
    pub code: PairingCode,
    /// What the owner said.
    pub decision: Decision,
    /// What the stranger is told; none if nothing.
    pub told: Option<Planned>,
}

/// Who lets people in, as the gateway asks for it. What was changed is in the log when a method
/// returns.
#[async_trait]
pub trait Doorkeeper: fmt::Debug + Send + Sync {
    /// The codes that can be approved, oldest first.
    fn pairings(&self) -> Vec<Pairing>;

    /// Lets a stranger in and says so in the stranger's chat.
    ///
    /// # Errors
    /// [`DoorError`]: nothing has changed.
    async fn approve(&self, code: &str, role: Role) -> Result<Person, DoorError>;

    /// Takes a code back. Nobody is told.
    ///
    /// # Errors
    /// [`DoorError`]: nothing has changed.
    async fn deny(&self, code: &str) -> Result<Pairing, DoorError>;

    /// Everybody who may speak: by the configuration, and let in since.
    fn people(&self) -> Vec<Person>;

    /// Strikes off somebody who was let in, with the codes and links of that person.
    ///
    /// # Errors
    /// [`DoorError`]: nothing has changed.
    async fn strike_off(&self, person: &PersonId) -> Result<(), DoorError>;

    /// The private chats that speak in another's session.
    fn links(&self) -> Vec<ChatLink>;

    /// Lets `chat` speak in the session of `into`.
    ///
    /// # Errors
    /// [`DoorError`]: nothing has changed.
    async fn link(&self, into: &ChatAddress, chat: &ChatAddress) -> Result<ChatLink, DoorError>;

    /// Gives `chat` its own session back.
    ///
    /// # Errors
    /// [`DoorError`]: nothing has changed.
    async fn unlink(&self, chat: &ChatAddress) -> Result<ChatLink, DoorError>;
}

/// Why nobody was let in, struck off or linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DoorError {
    /// The owner: it is no code.
    #[error(transparent)]
    NoCode(#[from] IdError),
    /// The owner: nobody was given this code.
    #[error("nobody was given the code {0} in the last day; look at the list of codes")]
    UnknownCode(PairingCode),
    /// The owner: somebody has decided before.
    #[error("the code {0} was {1} before; a code can be used once")]
    UsedCode(PairingCode, &'static str),
    /// The owner: it is too late.
    #[error("the code {0} has expired; its owner gets a new one by writing again")]
    ExpiredCode(PairingCode),
    /// The operator: nobody like this was let in.
    #[error("{0} was not let in; `avocet people list` shows who was")]
    UnknownPerson(PersonId),
    /// The operator: only the configuration can strike this person off.
    #[error("{0} is named by the configuration; remove the id from [channels.{channel}] there", channel = .0.channel)]
    Configured(PersonId),
    /// The owner: nobody who may speak has written there in private.
    #[error(
        "nobody who may speak has written to me in {0} in private; write there first (/id shows a \
         chat's name)"
    )]
    NotPrivate(ChatAddress),
    /// The owner: the two are one.
    #[error("{0} cannot be linked to itself")]
    Itself(ChatAddress),
    /// The owner: the chat speaks in another's session already.
    #[error("{chat} speaks in the session {session} already; unlink it first")]
    Linked {
        /// The chat.
        chat: ChatAddress,
        /// The session.
        session: SessionId,
    },
    /// The owner: other chats speak in the session of this one.
    #[error("{chat} is spoken in by {by}; unlink that first")]
    LinkedTo {
        /// The chat.
        chat: ChatAddress,
        /// Who speaks in its session.
        by: Box<ChatAddress>,
    },
    /// The owner: there is nothing to undo.
    #[error("{0} speaks in its own session; there is nothing to unlink")]
    NotLinked(ChatAddress),
    /// The operator: the channel is not configured any more.
    #[error(transparent)]
    Destination(#[from] NoDestination),
    /// The operator, or a retry: the log could not be written.
    #[error(transparent)]
    Log(#[from] StoreError),
}

/// Who decides which role somebody's words have.
pub trait Roles: fmt::Debug + Send + Sync {
    /// The role that a message is worked on in: that of its sender; in a group that of a user,
    /// unless the group's configuration says otherwise. Whoever may not speak is a user at most.
    fn role(&self, inbound: &Inbound) -> Role;

    /// Whether an owner wrote this, whoever reads along.
    fn is_owners(&self, inbound: &Inbound) -> bool;

    /// Where owners write in private: they can be asked there what nobody else may decide.
    fn owners_chats(&self) -> Vec<ChatAddress>;

    /// Whether the agent may write to a chat that it does not answer: the private chat of somebody who
    /// may speak, a group that the configuration names, any chat of the terminal.
    fn may_write(&self, chat: &ChatAddress) -> bool;
}
