//! Channels of which the platform has reported a property.

use parking_lot::Mutex;
use serenity::model::id::ChannelId;

use crate::bounded::KnownSet;

/// A bounded set of channels.
#[derive(Debug, Default)]
pub(crate) struct ChannelSet(Mutex<KnownSet<ChannelId>>);

impl ChannelSet {
    pub(crate) fn contains(&self, channel: ChannelId) -> bool {
        self.0.lock().contains(&channel)
    }

    pub(crate) fn insert(&self, channel: ChannelId) {
        self.0.lock().put(channel, ());
    }

    pub(crate) fn remove(&self, channel: ChannelId) {
        self.0.lock().pop(&channel);
    }
}
