//! Dead letters: abandoned outgoing messages, and dropped incoming ones.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::chat::{ChatAddress, SessionId};
use crate::clock::Timestamp;
use crate::ids::{DeliveryId, IdError, MessageId, TurnId};

/// The dead letters of the log. Each is listed until it is retried or dropped.
#[async_trait]
pub trait DeadLetters: fmt::Debug + Send + Sync {
    /// Returns dead letters, the newest first.
    async fn dead_letters(&self, page: DeadPage) -> Result<Vec<DeadLetter>>;

    /// Returns one dead letter; `None` if the id is unknown.
    async fn dead_letter(&self, id: DeadId) -> Result<Option<DeadLetter>>;

    /// Queues a dead letter again. An outgoing message is sent with all its parts, marked as a
    /// repetition if it may have arrived. An incoming message is copied to the end of its session's
    /// queue.
    /// Returns `None` if the id is unknown.
    async fn retry_dead_letter(&self, id: DeadId) -> Result<Option<RetriedLetter>>;

    /// Removes a dead letter from the list; the log keeps its row. Returns `false` if the id is
    /// unknown.
    async fn drop_dead_letter(&self, id: DeadId) -> Result<bool>;
}

/// The id of a dead letter: that of its message (`m12`), or of its first abandoned chunk (`o7`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^[mo][0-9]+$"))]
pub enum DeadId {
    /// An outgoing message.
    Delivery(DeliveryId),
    /// An incoming message.
    Message(MessageId),
}

impl fmt::Display for DeadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivery(id) => id.fmt(f),
            Self::Message(id) => id.fmt(f),
        }
    }
}

impl FromStr for DeadId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.parse() {
            Ok(id) => Ok(Self::Message(id)),
            Err(_) => text.parse().map(Self::Delivery),
        }
    }
}

impl TryFrom<String> for DeadId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<DeadId> for String {
    fn from(id: DeadId) -> Self {
        id.to_string()
    }
}

/// Selects the dead letters of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadPage {
    /// The most dead letters to return.
    pub limit: u32,
    /// Only those behind this one in the list. Without effect if it has left the list.
    pub after: Option<DeadId>,
}

/// The reason why a message is a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeadReason {
    /// The platform refused the message for good, or every attempt failed. It has not arrived.
    Refused,
    /// No attempt was confirmed. It may have arrived.
    Unconfirmed,
    /// The agent dropped an incoming message.
    Dropped,
}

impl DeadReason {
    /// In the order of declaration.
    pub const ALL: [Self; 3] = [Self::Refused, Self::Unconfirmed, Self::Dropped];

    /// The word in lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unconfirmed => "unconfirmed",
            Self::Dropped => "dropped",
        }
    }
}

/// One dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// Its id.
    pub id: DeadId,
    /// The reason.
    pub reason: DeadReason,
    /// Its chat.
    pub chat: ChatAddress,
    /// The start of the first send, or the receipt of an incoming message.
    pub at: Timestamp,
    /// The turn that wrote it or worked on it.
    pub turn: Option<TurnId>,
    /// Sends so far; for an incoming message, crashes of the process during its turn.
    pub attempts: u32,
    /// The last error, or the notice that the chat got about an incoming message.
    pub error: Option<String>,
    /// One line: the beginning of its text, and the names of its files.
    pub summary: String,
    /// The text of all abandoned parts.
    pub text: String,
}

/// A dead letter that is queued again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetriedLetter {
    /// The outbox delivers it to this chat.
    Delivery(ChatAddress),
    /// The lane of this session runs it.
    Message(SessionId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_id_is_that_of_a_message_or_of_a_delivery() {
        for (text, id) in
            [("m12", DeadId::Message(MessageId(12))), ("o7", DeadId::Delivery(DeliveryId(7)))]
        {
            assert_eq!(text.parse(), Ok(id));
            assert_eq!(id.to_string(), text);
        }
        for text in ["", "7", "t7", "o", "o-1"] {
            assert!(text.parse::<DeadId>().is_err(), "{text:?}");
        }
    }
}
