//! The method that searches the conversations of all people.

use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChatRow, ListParams, listed_rows};

/// `sessions.search`: a list of [`FoundText`], best first. Finds the messages, answers and notices of
/// turns that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchSessions {
    /// The words; texts with any of them are found.
    pub words: String,
    /// The most rows, from 1 to 500.
    #[serde(default = "some_rows")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
}

fn some_rows() -> u32 {
    20
}

/// A text of a conversation that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundText {
    /// The conversation.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The time of writing.
    pub at: Timestamp,
    /// The author.
    pub author: TextAuthor,
    /// The part of the text around the words, in one line without secrets, at most 240 characters
    /// long.
    pub text: String,
}

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextAuthor {
    /// A person.
    Person,
    /// The agent.
    Agent,
    /// The daemon, which explains why there is no answer.
    Notice,
}

impl ChatRow for FoundText {
    fn chats(&self) -> Vec<String> {
        vec![self.session.to_string()]
    }
}

impl ListParams for SearchSessions {
    type Row = FoundText;
}

method!(SearchSessions = "sessions.search": Self => Vec<FoundText>, Observer, listed_rows::<Self>());
