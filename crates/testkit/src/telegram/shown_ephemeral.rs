//! The messages that only one person of a group has seen.

use std::collections::BTreeSet;

use super::wire::MethodCall;

/// A message of the bot that only its receiver sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EphemeralMessage {
    /// The id of the group.
    pub chat: i64,
    /// The person who sees it.
    pub receiver: i64,
    /// The number of the command that it answers.
    pub reply_to: Option<i64>,
    /// The text.
    pub text: String,
}

/// The ephemeral messages of a server.
#[derive(Debug, Default)]
pub(super) struct EphemeralMessages {
    pub(super) is_known: bool,
    /// Commands that only their author and the bot have seen: group, author and number.
    pub(super) commands: BTreeSet<(i64, i64, i64)>,
    pub(super) shown: Vec<EphemeralMessage>,
}

impl EphemeralMessages {
    /// Returns `true` for a request that the server takes as an ephemeral one.
    pub(super) fn is_meant_by(&self, call: &MethodCall) -> bool {
        let fields = ["receiver_user_id", "ephemeral_message_parameters"];
        self.is_known && fields.iter().any(|field| call.get(field).is_some())
    }
}
