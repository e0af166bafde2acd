//! Channels of which the platform has reported a property.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serenity::model::id::ChannelId;

use crate::bounded::MakeRoom;

/// A bounded set of channels.
#[derive(Debug, Default)]
pub(crate) struct ChannelSet(Mutex<HashSet<ChannelId>>);

impl ChannelSet {
    pub(crate) fn contains(&self, channel: ChannelId) -> bool {
        self.channels().contains(&channel)
    }

    pub(crate) fn insert(&self, channel: ChannelId) {
        let mut channels = self.channels();
        channels.make_room(&channel);
        channels.insert(channel);
    }

    pub(crate) fn remove(&self, channel: ChannelId) {
        self.channels().remove(&channel);
    }

    fn channels(&self) -> MutexGuard<'_, HashSet<ChannelId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
