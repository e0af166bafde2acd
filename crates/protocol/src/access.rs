//! The ports of access control: the stored people, pairing and links, and the roles of messages.

mod allow;
mod approvals;
mod asker;
mod client_role;
mod grant;
mod owner_rules;
mod people;
mod permission_mode;
mod policy;
mod protected;
mod role;
mod rule_control;
mod trust;

pub use allow::{Allow, AllowLists, GroupRules};
pub use approvals::{
    ApprovalCard, ApprovalChoice, ApprovalDecision, Approvals, EXPIRED, OpenApproval,
};
pub use asker::Asker;
pub use client_role::ClientRole;
pub use grant::Grant;
pub use owner_rules::{
    MAX_RULE_CHARS, MAX_RULES, NewRule, NoRuleScope, OwnerRule, RULES_HEADING, RuleCase, RuleList,
    RuleName, RuleRefused, RuleScope,
};
pub use people::{ChatLink, Decision, Pairing, PairingCode, Person, PersonId, SettledPairing};
pub use permission_mode::{NoPermissionMode, PermissionMode};
pub use policy::{Rule, ToolList, ToolPolicy};
pub use protected::{INSTRUCTION_FILES, PROTECTED_PATHS};
pub use role::Role;
pub use rule_control::{RuleControl, RuleError, ShownRule};
pub use trust::{LeastTrust, Trust};

use std::fmt;

use async_trait::async_trait;

use crate::bus::NoDestination;
use crate::chat::{ChatAddress, Inbound, NewInbound, Planned, SessionId};
use crate::clock::Timestamp;
use crate::ids::{IdError, SenderId};
use crate::store::StoreError;

/// The admitted people, as stored in the log.
#[async_trait]
pub trait People: fmt::Debug + Send + Sync {
    /// All stored people, codes, links and private chats.
    async fn stored_access(&self) -> Result<StoredAccess, StoreError>;

    /// Stores a code together with its messages: the stranger's hint and the owners' cards, which have
    /// buttons. A decision changes the cards.
    /// Deletes codes that were issued before `forget`.
    async fn add_pairing(
        &self,
        pairing: &Pairing,
        messages: &[Planned],
        forget: Timestamp,
    ) -> Result<(), StoreError>;

    /// Keeps the first message of a stranger with an open code, so that it need not be sent again. An
    /// edit of that message replaces its content, and other messages change nothing. The message is
    /// deleted with the decision, or later if the code has expired.
    async fn keep_message(
        &self,
        code: &PairingCode,
        message: &NewInbound,
    ) -> Result<(), StoreError>;

    /// Decides about a code and commits the message to the stranger. An approval accepts the kept
    /// message of the stranger in the same transaction. Durable when this returns.
    async fn decide(&self, settled: &SettledPairing) -> Result<DecisionEffect, StoreError>;

    /// Removes an admitted person, with the person's codes, private chats and their links. Returns
    /// `false` if the person was not admitted. Durable when this returns.
    async fn remove_person(&self, person: &PersonId) -> Result<bool, StoreError>;

    /// Records that an admitted person writes in this private chat. The chat then belongs to that
    /// person, even if others press buttons in it.
    async fn add_private_chat(
        &self,
        chat: &ChatAddress,
        sender: &SenderId,
    ) -> Result<(), StoreError>;

    /// Links a chat to the session of another chat. Durable when this returns.
    async fn link(&self, link: &ChatLink) -> Result<(), StoreError>;

    /// Gives a chat its own session back. Returns `false` if the chat was not linked. Durable when
    /// this returns.
    async fn unlink(&self, chat: &ChatAddress) -> Result<bool, StoreError>;
}

/// Everything in the log about people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredAccess {
    /// The admitted people, by their ids.
    pub people: Vec<Person>,
    /// The codes issued lately, oldest first.
    pub pairings: Vec<Pairing>,
    /// The codes whose stranger has a kept message.
    pub kept: Vec<PairingCode>,
    /// Chats that are linked to the session of another chat.
    pub links: Vec<ChatLink>,
    /// The private chats of admitted people.
    pub chats: Vec<(ChatAddress, SenderId)>,
}

/// The effect of a decision about a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionEffect {
    /// The code was already decided or has expired.
    Nothing,
    /// The decision is in the log.
    Decided,
    /// The stranger is admitted, and the kept message waits in the lane of this session.
    Queued(SessionId),
}

/// Pairing and links, as the gateway uses them. A change is in the log when the method returns.
#[async_trait]
pub trait AccessControl: fmt::Debug + Send + Sync {
    /// The codes that can be approved, oldest first.
    fn pairings(&self) -> Vec<Pairing>;

    /// Admits a stranger and sends the news to the stranger's chat.
    ///
    /// # Errors
    /// [`AccessError`]: nothing has changed.
    async fn approve(&self, code: &str, role: Role) -> Result<Person, AccessError>;

    /// Denies a code, without a message to the stranger.
    ///
    /// # Errors
    /// [`AccessError`]: nothing has changed.
    async fn deny(&self, code: &str) -> Result<Pairing, AccessError>;

    /// All admitted people: those in the configuration, and those admitted since.
    fn people(&self) -> Vec<Person>;

    /// Removes an admitted person, with the person's codes and links.
    ///
    /// # Errors
    /// [`AccessError`]: nothing has changed.
    async fn remove_person(&self, person: &PersonId) -> Result<(), AccessError>;

    /// The private chats that are linked to the session of another chat.
    fn links(&self) -> Vec<ChatLink>;

    /// Links `chat` to the session of `into`.
    ///
    /// # Errors
    /// [`AccessError`]: nothing has changed.
    async fn link(&self, into: &ChatAddress, chat: &ChatAddress) -> Result<ChatLink, AccessError>;

    /// Gives `chat` its own session back.
    ///
    /// # Errors
    /// [`AccessError`]: nothing has changed.
    async fn unlink(&self, chat: &ChatAddress) -> Result<ChatLink, AccessError>;
}

/// The reason for a refused change of people, codes or links.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The code is malformed.
    #[error(transparent)]
    NoCode(#[from] IdError),
    /// The code is unknown: it was never issued, or more than a day ago.
    #[error("the code {0} was given to no person in the last day; see the list of codes")]
    UnknownCode(PairingCode),
    /// The code was decided before.
    #[error("the code {0} was {1} before; a code can be used once")]
    UsedCode(PairingCode, &'static str),
    /// The stranger gets a new code by writing again.
    #[error("the code {0} has expired; the stranger gets a new one by writing again")]
    ExpiredCode(PairingCode),
    /// The person was not admitted through pairing.
    #[error("{0} has no access; `avocet people list` shows who has")]
    UnknownPerson(PersonId),
    /// The configuration names this person, so the operator has to remove the name there.
    #[error("{0} is named by the configuration; remove the id from [channels.{channel}] there", channel = .0.channel)]
    Configured(PersonId),
    /// The chat is not a private chat of an admitted person.
    #[error(
        "the chat {0} is not a private chat of an admitted person; write to me there first (/id shows \
         a chat's name)"
    )]
    NotPrivate(ChatAddress),
    /// Both chats are the same.
    #[error("{0} cannot be linked to itself")]
    Itself(ChatAddress),
    /// The chat is already linked to the session of another chat.
    #[error("{chat} speaks in the session {session} already; unlink it first")]
    Linked {
        /// The chat in the request.
        chat: ChatAddress,
        /// The session in which it speaks now.
        session: SessionId,
    },
    /// Other chats are linked to the session of this chat.
    #[error("{by} is linked to {chat}; unlink it first")]
    LinkedTo {
        /// The chat in the request.
        chat: ChatAddress,
        /// A chat that is linked to its session.
        by: Box<ChatAddress>,
    },
    /// The chat speaks in its own session, so there is nothing to undo.
    #[error("{0} speaks in its own session; there is nothing to unlink")]
    NotLinked(ChatAddress),
    /// The channel is no longer configured.
    #[error(transparent)]
    Destination(#[from] NoDestination),
    /// The log returned an error. A retry or the operator can help.
    #[error(transparent)]
    Log(#[from] StoreError),
}

/// Determines the role of a message.
pub trait Roles: fmt::Debug + Send + Sync {
    /// The role in which a message is processed. In a private chat this is the sender's role; in a
    /// group it is that of a user, unless the group's configuration grants more. A sender who is
    /// not admitted counts as a user.
    fn role(&self, inbound: &Inbound) -> Role;

    /// Returns `true` if an owner wrote this, in a group as well.
    fn is_owners(&self, inbound: &Inbound) -> bool;

    /// The author of a message, with the present session of its chat. `None` if that session has no
    /// valid id.
    fn asker(&self, inbound: &Inbound) -> Option<Asker>;

    /// The private chats of owners, for questions that only owners may decide.
    fn owners_chats(&self) -> Vec<ChatAddress>;

    /// Returns `true` if the owners of the account of `chat` decide about questions of the chat
    /// `asked_in`: calls that wait for approval, strangers, links, rules. They always do in their own account.
    /// `None` is a turn without a chat.
    fn may_decide_for(&self, chat: &ChatAddress, asked_in: Option<&ChatAddress>) -> bool;

    /// Returns `true` for the private chat of an owner. Only there does a notice have words of the
    /// program.
    fn is_owners_chat(&self, chat: &ChatAddress) -> bool;

    /// Returns `true` if the agent may write to a chat without being asked: the private chat of an
    /// admitted person, a group that the configuration names, any chat of the terminal.
    fn may_write(&self, chat: &ChatAddress) -> bool;
}
