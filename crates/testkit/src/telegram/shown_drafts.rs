//! The drafts that people see.

use std::collections::BTreeMap;

use avocet_protocol::clock::Timestamp;

/// The drafts in private chats.
#[derive(Debug, Default)]
pub(super) struct ShownDrafts {
    /// `true` for a server that knows the method.
    pub(super) are_known: bool,
    /// The number, the text and the end of each draft, by chat.
    pub(super) shown: BTreeMap<i64, (i64, String, Timestamp)>,
    /// For the last draft of each chat: `true` if it has a button that stops it, and `true` if it
    /// stays then.
    pub(super) stop_buttons: BTreeMap<i64, (bool, bool)>,
}

impl ShownDrafts {
    pub(super) fn are_known(&self) -> bool {
        self.are_known
    }

    /// A message of the bot takes the place of the draft.
    pub(super) fn end(&mut self, chat: i64) {
        self.shown.remove(&chat);
    }
}
