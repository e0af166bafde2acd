//! People and their roles, the pairing codes of strangers, and chats that share a session.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Role;
use crate::chat::{ChatAddress, Inbound, Planned, SessionId};
use crate::clock::Timestamp;
use crate::ids::{AccountName, ChannelName, IdError, SenderId};
use crate::{ids::IdFault, ids::check_id};

/// A person on one account: `telegram:main:4711`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// The author of a message.
    #[must_use]
    pub fn from_inbound(inbound: &Inbound) -> Self {
        Self::from_sender(&inbound.address, inbound.sender.id.clone())
    }

    /// A person on the account of a chat.
    #[must_use]
    pub fn from_sender(chat: &ChatAddress, sender: SenderId) -> Self {
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

/// An admitted person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// The person's id.
    pub id: PersonId,
    /// The display name that the person chose; for display only, never for decisions.
    pub name: Option<String>,
    /// The person's role.
    pub role: Role,
    /// The time of admission; `None` for a person in the configuration.
    pub since: Option<Timestamp>,
}

const CODE_LENGTH: u32 = 8;
/// The characters of a code, without 0 and O, 1 and I. Each character stands for five bits.
const CODE_ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// A code that a stranger gets and an owner approves: `K7QX-M2PA`. Parsing ignores case, dashes and
/// spaces.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct PairingCode(String);

impl PairingCode {
    /// Makes the code of the lowest 40 bits; `bits` is random.
    #[must_use]
    pub fn from_bits(bits: u128) -> Self {
        let place = |place: u32| CODE_ALPHABET[(bits >> (5 * place)) as usize % 32];
        Self((0..CODE_LENGTH).map(|at| char::from(place(at))).collect())
    }

    /// The characters without the dash, as stored in the log.
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

/// A stranger with a pairing code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pairing {
    /// The code.
    pub code: PairingCode,
    /// The stranger.
    pub person: PersonId,
    /// The display name that the stranger chose; for display only, never for decisions.
    pub name: Option<String>,
    /// The private chat in which the stranger wrote.
    pub chat: ChatAddress,
    /// The time of issue.
    pub created_at: Timestamp,
    /// The end of its validity.
    pub expires_at: Timestamp,
    /// The decision; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// An owner's decision about a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The stranger is admitted in this role.
    Approved(Role),
    /// The stranger is refused.
    Denied,
}

impl Decision {
    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved(_) => "approved",
            Self::Denied => "denied",
        }
    }
}

/// A code that an owner has decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledPairing {
    /// Used up by the decision.
    pub code: PairingCode,
    /// The owner's decision.
    pub decision: Decision,
    /// The message to the stranger, if any.
    pub notice: Option<Planned>,
    /// The texts that take the places of the cards in the owners' chats, in one chunk each.
    pub outcomes: Vec<Planned>,
}

/// A private chat that is linked to the session of another chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatLink {
    /// The chat.
    pub chat: ChatAddress,
    /// The session that it is linked to.
    pub session: SessionId,
}

#[cfg(test)]
#[path = "people_tests.rs"]
mod tests;
