//! Channels that refuse a kind of message: a reply, because the bot may not read the history, or a voice
//! message.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serenity::model::id::ChannelId;

use crate::fault::RestError;

/// The platform's error codes for a reply in a channel with a history that the bot may not read.
const CLOSED_HISTORY: [isize; 2] = [160_002, 160_009];

/// Channels that have refused a kind of message.
#[derive(Debug, Default)]
pub(crate) struct RefusingChannels(Mutex<BTreeSet<ChannelId>>);

impl RefusingChannels {
    pub(crate) fn contains(&self, channel: ChannelId) -> bool {
        self.channels().contains(&channel)
    }

    pub(crate) fn insert(&self, channel: ChannelId) {
        self.channels().insert(channel);
    }

    fn channels(&self) -> MutexGuard<'_, BTreeSet<ChannelId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `true` if a reply was refused because of the message that it replies to. Then nothing
/// was sent.
pub(crate) fn is_about_closed_history(fault: &RestError) -> bool {
    CLOSED_HISTORY.iter().any(|code| fault.is_refused_with(*code))
}
