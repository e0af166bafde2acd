//! The reactions in all chats.

use std::collections::{BTreeMap, BTreeSet};

/// The reactions in all chats.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    /// Those of the bot, by chat and message.
    pub(super) own: BTreeMap<(i64, i64), String>,
    /// Those of users, by chat, message and user.
    pub(super) of_users: BTreeMap<(i64, i64, i64), String>,
    /// Chats that forbid reactions.
    pub(super) forbidden: BTreeSet<i64>,
    /// Groups in which the bot is an administrator.
    pub(super) administered: BTreeSet<i64>,
}
