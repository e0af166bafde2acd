//! Channels that have to catch up. Their live events wait here until the missed messages are read,
//! because the cursor of the channel must not pass those.

use std::collections::BTreeMap;
use std::fmt;

use serenity::model::id::{ChannelId, MessageId};

use crate::gateway::{LiveEvent, MESSAGE_CREATE};
use crate::history::message_id;

/// New messages that may wait in a channel; further ones are read from the history later. Edits and
/// interactions wait without a limit, because the history does not list them.
const MAX_HELD: usize = 1000;

/// The next step of a catch-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CatchUpStep {
    /// Fetch the channel: its type and its last message.
    Channel,
    /// Search the messages read before for edits.
    Edits,
    /// Read the missed messages.
    Missed,
    /// Read the messages before a mention, for the model.
    Before {
        mention: MessageId,
        /// `true` if missed messages follow, with the mention as the first.
        then_missed: bool,
    },
}

/// The gap of a channel that has to catch up.
#[derive(Debug)]
pub(super) struct Gap {
    /// Everything up to this message is committed or ignored.
    pub(super) after: MessageId,
    pub(super) next: CatchUpStep,
    held: Vec<LiveEvent>,
    dropped: Option<Dropped>,
}

/// Live messages beyond the limit, which are only in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dropped {
    count: usize,
    first: MessageId,
    last: MessageId,
}

/// The channels that have to catch up.
#[derive(Debug, Default)]
pub(super) struct Gaps(BTreeMap<ChannelId, Gap>);

impl Gaps {
    /// Notes a gap in a channel. Events that wait there keep waiting.
    pub(super) fn note(&mut self, channel: ChannelId, after: MessageId, next: CatchUpStep) {
        let known = self.0.remove(&channel).map(|gap| (gap.held, gap.dropped));
        let (held, dropped) = known.unwrap_or_default();
        self.0.insert(channel, Gap { after, next, held, dropped });
    }

    pub(super) fn get(&self, channel: ChannelId) -> Option<&Gap> {
        self.0.get(&channel)
    }

    pub(super) fn get_mut(&mut self, channel: ChannelId) -> Option<&mut Gap> {
        self.0.get_mut(&channel)
    }

    /// Closes a gap. Returns the live events that came meanwhile, in their order.
    pub(super) fn close(&mut self, channel: ChannelId) -> Vec<LiveEvent> {
        self.0.remove(&channel).map(|gap| gap.held).unwrap_or_default()
    }
}

impl Gap {
    pub(super) fn hold(&mut self, event: LiveEvent) {
        let is_new = |event: &&LiveEvent| event.name == MESSAGE_CREATE;
        if !is_new(&&event) || self.held.iter().filter(is_new).count() < MAX_HELD {
            self.held.push(event);
            return;
        }
        let last = message_id(&event.data);
        let dropped = self.dropped.get_or_insert(Dropped { count: 0, first: last, last });
        (dropped.count, dropped.last) = (dropped.count + 1, last);
    }

    /// Returns, once, the dropped messages that were not read from the history since. The caller
    /// requests them.
    pub(super) fn take_dropped(&mut self) -> Option<Dropped> {
        self.dropped.take().filter(|dropped| dropped.last > self.after)
    }

    pub(super) fn has_held_events(&self) -> bool {
        !self.held.is_empty()
    }

    /// Removes the live copy of a message of the history. Returns the live events before it, such
    /// as edits: they come first.
    pub(super) fn take_until(&mut self, message: MessageId) -> Vec<LiveEvent> {
        let is_it =
            |live: &LiveEvent| live.name == MESSAGE_CREATE && message_id(&live.data) == message;
        let Some(place) = self.held.iter().position(is_it) else { return Vec::new() };
        let mut before: Vec<LiveEvent> = self.held.drain(..=place).collect();
        before.pop();
        before
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first, last } = self;
        write!(f, "{count} messages, from {first} to {last}")
    }
}

#[cfg(test)]
#[path = "gaps_tests.rs"]
mod tests;
