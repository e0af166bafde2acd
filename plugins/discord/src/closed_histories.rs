//! Channels with a history that the bot may not read. A reply there is refused.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serenity::model::id::ChannelId;

use crate::fault::RestError;

/// The platform's error codes for a reply in a channel with a history that the bot may not read.
const CLOSED_HISTORY: [isize; 2] = [160_002, 160_009];

/// Channels with a history that the bot may not read, as far as the platform has reported.
#[derive(Debug, Default)]
pub(crate) struct ClosedHistories(Mutex<BTreeSet<ChannelId>>);

impl ClosedHistories {
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
