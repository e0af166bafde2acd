//! Who may speak: people and their roles, the codes that strangers are given, and chats that share
//! a session.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{IdFault, check_id};
use crate::{
    AccountName, ChannelName, ChatAddress, IdError, Inbound, SenderId, SessionId, Timestamp,
};

/// What a person may do, the least first.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May speak, and has what is made for everybody.
    #[default]
    User,
    /// May have everything done that the agent can do, and lets others in.
    Owner,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 2] = [Self::User, Self::Owner];

    /// The word in the log and in what the CLI prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Owner => "owner",
        }
    }
}

/// A person on one account: `telegram:main:4711`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PersonId {
    /// The platform adapter.
    pub channel: ChannelName,
    /// The bot login on it.
    pub account: AccountName,
    /// The platform's id of the person.
    pub sender: SenderId,
}

impl PersonId {
    /// Whoever wrote this.
    #[must_use]
    pub fn of(inbound: &Inbound) -> Self {
        Self::on(&inbound.address, inbound.sender.id.clone())
    }

    /// Somebody on the account of a chat.
    #[must_use]
    pub fn on(chat: &ChatAddress, sender: SenderId) -> Self {
        let ChatAddress { channel, account, .. } = chat.clone();
        Self { channel, account, sender }
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, account, sender } = self;
        write!(f, "{channel}:{account}:{sender}")
    }
}

impl FromStr for PersonId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        const KIND: &str = "person";
        check_id(KIND, text)?;
        let mut parts = text.splitn(3, ':');
        let (Some(channel), Some(account), Some(sender)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(IdError::new(KIND, text, IdFault::Person));
        };
        Ok(Self {
            channel: ChannelName::parse(channel)?,
            account: AccountName::parse(account)?,
            sender: SenderId::parse(sender)?,
        })
    }
}

impl TryFrom<String> for PersonId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<PersonId> for String {
    fn from(id: PersonId) -> Self {
        id.to_string()
    }
}

/// Somebody who may speak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Who.
    pub id: PersonId,
    /// What the person calls themselves; to be shown, never to be believed.
    pub name: Option<String>,
    /// What the person may do.
    pub role: Role,
    /// When the person was let in; none for whom the configuration names.
    pub since: Option<Timestamp>,
}

/// Characters of a code.
const CODE_LENGTH: u32 = 8;
/// What a code is written in: no 0 and O, no 1 and I. Each character is worth five bits.
const CODE_ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// What a stranger is given and an owner approves: `K7QX-M2PA`. Read without regard to case, dashes
/// and spaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PairingCode(String);

impl PairingCode {
    /// The code of the lowest 40 of these bits, which are random.
    #[must_use]
    pub fn from_bits(bits: u128) -> Self {
        let place = |place: u32| CODE_ALPHABET[(bits >> (5 * place)) as usize % 32];
        Self((0..CODE_LENGTH).map(|at| char::from(place(at))).collect())
    }

    /// The characters alone, as the log keeps them.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.0.split_at(self.0.len() / 2);
        write!(f, "{first}-{last}")
    }
}

impl FromStr for PairingCode {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let written = text.chars().filter(|c| !matches!(c, '-' | ' '));
        let code: String = written.map(|c| c.to_ascii_uppercase()).collect();
        let is_one = code.len() == CODE_LENGTH as usize
            && code.bytes().all(|byte| CODE_ALPHABET.contains(&byte));
        if is_one { Ok(Self(code)) } else { Err(IdError::new("code", text, IdFault::Code)) }
    }
}

impl TryFrom<String> for PairingCode {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<PairingCode> for String {
    fn from(code: PairingCode) -> Self {
        code.to_string()
    }
}

/// A stranger who was given a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The code.
    pub code: PairingCode,
    /// Who.
    pub person: PersonId,
    /// What the stranger calls themselves; to be shown, never to be believed.
    pub name: Option<String>,
    /// The private chat in which the stranger wrote.
    pub chat: ChatAddress,
    /// When the code was given out.
    pub created_at: Timestamp,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
    /// What became of it; none while nobody has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// What an owner says to a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The stranger may speak, in this role.
    Approved(Role),
    /// The stranger may not.
    Denied,
}

impl Decision {
    /// The word in the log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved(_) => "approved",
            Self::Denied => "denied",
        }
    }
}

/// A private chat that speaks in the session of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatLink {
    /// The chat.
    pub chat: ChatAddress,
    /// The session in which it speaks.
    pub session: SessionId,
}

#[cfg(test)]
#[path = "people_tests.rs"]
mod tests;
