//! Channels that are behind: what comes live in one waits here until what was missed is read, since its
//! cursor must not pass that.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use serenity::model::id::{ChannelId, MessageId};

use crate::gateway::Live;
use crate::history::id;

/// New messages that wait in a channel. Further ones are left to the history; what it does not tell,
/// edits and what is pressed, waits without a limit.
const MAX_HELD: usize = 1000;
pub(crate) const SAID: &str = "MESSAGE_CREATE";
pub(crate) const EDITED: &str = "MESSAGE_UPDATE";
pub(crate) const PRESSED: &str = "INTERACTION_CREATE";

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// The channel: what it is, and what was said there last.
    Channel,
    /// What was read before: it may have been edited.
    Edits,
    /// What was said since.
    Missed,
}

/// What is missing of a channel.
#[derive(Debug)]
pub(crate) struct Gap {
    /// Everything up to here is committed, or not for us.
    pub(crate) after: MessageId,
    /// What is asked next.
    pub(crate) next: Look,
    held: Vec<Live>,
    dropped: Option<Dropped>,
}

/// Messages that came live and could not wait any more: only the history tells of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    count: usize,
    first: MessageId,
    last: MessageId,
}

/// The channels that are behind.
#[derive(Debug, Default)]
pub(crate) struct Gaps(BTreeMap<ChannelId, Gap>);

impl Gaps {
    /// Notes what is missing of a channel. What waits there goes on waiting.
    pub(crate) fn note(&mut self, channel: ChannelId, after: MessageId, next: Look) {
        let known = self.0.remove(&channel).map(|gap| (gap.held, gap.dropped));
        let (held, dropped) = known.unwrap_or_default();
        self.0.insert(channel, Gap { after, next, held, dropped });
    }

    pub(crate) fn get(&self, channel: ChannelId) -> Option<&Gap> {
        self.0.get(&channel)
    }

    pub(crate) fn get_mut(&mut self, channel: ChannelId) -> Option<&mut Gap> {
        self.0.get_mut(&channel)
    }

    /// A channel is not behind any more: what came live meanwhile, in order.
    pub(crate) fn close(&mut self, channel: ChannelId) -> Vec<Live> {
        self.0.remove(&channel).map(|gap| gap.held).unwrap_or_default()
    }
}

impl Gap {
    pub(crate) fn hold(&mut self, live: Live) {
        let said = |live: &&Live| live.name == SAID;
        if !said(&&live) || self.held.iter().filter(said).count() < MAX_HELD {
            self.held.push(live);
            return;
        }
        let last = id(&live.data);
        let dropped = self.dropped.get_or_insert(Dropped { count: 0, first: last, last });
        (dropped.count, dropped.last) = (dropped.count + 1, last);
    }

    /// What could not wait and has not been told of since, once: whoever takes it asks for it.
    pub(crate) fn take_dropped(&mut self) -> Option<Dropped> {
        self.dropped.take().filter(|dropped| dropped.last > self.after)
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        !self.held.is_empty()
    }

    /// The history told of messages: they need not be heard again.
    pub(crate) fn was_told(&mut self, page: &[Value]) {
        let told = |live: &Live| page.iter().any(|message| id(message) == id(&live.data));
        self.held.retain(|live| live.name != SAID || !told(live));
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
