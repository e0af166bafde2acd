//! The order of the bot's reactions: the changes of one channel are made one after the other.
//! The removal of an emoji must not overtake its addition, and a channel has one rate limit for all.

use std::collections::{HashMap, VecDeque};

use serenity::model::id::{ChannelId, MessageId};

use crate::bounded::KnownSet;
use crate::discord::reactions::ReactionChange;

/// The changes of each channel.
#[derive(Debug, Default)]
pub(super) struct ReactionQueue {
    /// Channels with a change in progress, and their further changes.
    waiting: HashMap<ChannelId, VecDeque<ReactionChange>>,
    /// Messages whose answer has ended.
    ended: KnownSet<MessageId>,
}

impl ReactionQueue {
    /// Adds a change. Returns it if it can be made now.
    pub(super) fn add(&mut self, change: ReactionChange) -> Option<ReactionChange> {
        if let Some(waiting) = self.waiting.get_mut(&change.channel) {
            waiting.push_back(change);
            return None;
        }
        self.waiting.insert(change.channel, VecDeque::new());
        Some(change)
    }

    /// Notes a finished change. Returns the next one of the channel.
    pub(super) fn finish(&mut self, channel: ChannelId) -> Option<ReactionChange> {
        let next = self.waiting.get_mut(&channel).and_then(VecDeque::pop_front);
        if next.is_none() {
            self.waiting.remove(&channel);
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
