//! Channels of which the platform has reported a property.

use std::collections::HashSet;

use parking_lot::Mutex;
use serenity::model::id::ChannelId;

use crate::bounded::MakeRoom;

/// A bounded set of channels.
#[derive(Debug, Default)]
pub(crate) struct ChannelSet(Mutex<HashSet<ChannelId>>);

impl ChannelSet {
    pub(crate) fn contains(&self, channel: ChannelId) -> bool {
        self.0.lock().contains(&channel)
    }

    pub(crate) fn insert(&self, channel: ChannelId) {
        let mut channels = self.0.lock();
        channels.make_room(&channel);
        channels.insert(channel);
    }

    pub(crate) fn remove(&self, channel: ChannelId) {
        self.0.lock().remove(&channel);
    }
}
