//! The interactions of users, and the answers that they have.

use std::collections::BTreeMap;

use avocet_protocol::clock::Timestamp;
use serde_json::Value;

/// A user's interaction, and the bot's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The id.
    pub id: u64,
    /// The token for its answers.
    pub token: String,
    /// The id of the channel.
    pub channel: u64,
    /// The time of the interaction.
    pub at: Timestamp,
    /// The message with the pressed button. `None` for a command.
    pub message: Option<u64>,
    /// The type of the first answer. 4: a message; 5: a later message; 6 and 7: the message with
    /// the button. `None` if it is unanswered, and the user sees a failure.
    pub answered: Option<u64>,
    /// The `data` of the first answer.
    pub data: Value,
    /// The message that answers it.
    pub original: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Interactions(pub(super) BTreeMap<u64, Interaction>);

impl Interactions {
    pub(super) fn by_token(&self, token: &str) -> Option<&Interaction> {
        self.0.values().find(|interaction| interaction.token == token)
    }
}
