//! The order of the bot's reactions: the changes of one message are made one after the other,
//! because the removal of an emoji must not overtake its addition.

use std::collections::{HashMap, VecDeque};

use serenity::model::id::MessageId;

use crate::bounded::KnownSet;
use crate::discord::reactions::ReactionChange;

/// The changes of each message.
#[derive(Debug, Default)]
pub(super) struct ReactionQueue {
    /// Messages with a change in progress, and their further changes.
    waiting: HashMap<MessageId, VecDeque<ReactionChange>>,
    /// Messages whose answer has ended.
    ended: KnownSet<MessageId>,
}

impl ReactionQueue {
    /// Adds a change. Returns it if it can be made now.
    pub(super) fn add(&mut self, change: ReactionChange) -> Option<ReactionChange> {
        if let Some(waiting) = self.waiting.get_mut(&change.message) {
            waiting.push_back(change);
            return None;
        }
        self.waiting.insert(change.message, VecDeque::new());
        Some(change)
    }

    /// Notes a finished change. Returns the next one of the message.
    pub(super) fn finish(&mut self, message: MessageId) -> Option<ReactionChange> {
        let next = self.waiting.get_mut(&message).and_then(VecDeque::pop_front);
        if next.is_none() {
            self.waiting.remove(&message);
        }
        next
    }

    pub(super) fn note_end(&mut self, message: MessageId) {
        self.ended.put(message, ());
    }

    pub(super) fn has_ended(&self, message: MessageId) -> bool {
        self.ended.contains(&message)
    }
}
