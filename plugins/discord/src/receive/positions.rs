//! The read position of each channel, which the account's cursors keep over restarts.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use avocet_protocol::chat::Cursor;
use avocet_protocol::clock::Timestamp;
use serenity::model::id::{ChannelId, MessageId};

use crate::history::first_id_after;

/// The scope of the cursor with the time of the first start.
const FIRST_START: &str = "began";
/// Comes before a user's id: the scope of the cursor with their direct message channel.
const DIRECT_PREFIX: &str = "direct ";
/// Time to look back in a channel that was never read.
const LOOK_BACK: Duration = Duration::from_hours(24);

#[derive(Debug, Default)]
pub(super) struct ReadPositions {
    /// The last committed message of each channel.
    last: BTreeMap<ChannelId, MessageId>,
    /// The direct message channel of each allowed user.
    direct: BTreeMap<u64, ChannelId>,
    /// The time of the first start: older messages are ignored.
    first_start: Option<MessageId>,
}

impl ReadPositions {
    pub(super) fn read(cursors: &[Cursor]) -> Self {
        let mut positions = Self::default();
        for Cursor { scope, position } in cursors {
            let Ok(position) = position.parse::<NonZeroU64>() else { continue };
            if let Ok(channel) = scope.parse::<NonZeroU64>() {
                positions.last.insert(channel.into(), position.into());
            } else if let Some(Ok(user)) = scope.strip_prefix(DIRECT_PREFIX).map(str::parse) {
                positions.direct.insert(user, position.into());
            } else if scope == FIRST_START {
                positions.first_start = Some(position.into());
            }
        }
        positions
    }

    /// Returns every channel that was read, with its last read message.
    pub(super) fn channels(&self) -> BTreeMap<ChannelId, MessageId> {
        self.last.clone()
    }

    pub(super) fn last(&self, channel: ChannelId) -> Option<MessageId> {
        self.last.get(&channel).copied()
    }

    /// Returns the cursor for a message of a channel; `None` if the channel was read further
    /// before.
    pub(super) fn cursor(&self, channel: ChannelId, message: MessageId) -> Option<Cursor> {
        let further = self.last.get(&channel).is_none_or(|last| *last < message);
        further.then(|| Cursor { scope: channel.to_string(), position: message.to_string() })
    }

    pub(super) fn note_read(&mut self, channel: ChannelId, message: MessageId) {
        let last = self.last.entry(channel).or_insert(message);
        *last = message.max(*last);
    }

    /// Returns every known direct message channel.
    pub(super) fn direct_channels(&self) -> impl Iterator<Item = ChannelId> {
        self.direct.values().copied()
    }

    pub(super) fn direct(&self, user: u64) -> Option<ChannelId> {
        self.direct.get(&user).copied()
    }

    /// Notes a user's direct message channel. Returns the cursor to store.
    pub(super) fn note_direct(&mut self, user: u64, channel: ChannelId) -> Cursor {
        self.direct.insert(user, channel);
        Cursor { scope: format!("{DIRECT_PREFIX}{user}"), position: channel.to_string() }
    }

    /// Notes the first start, if this is it. Returns the cursor to store.
    pub(super) fn note_first_start(&mut self, now: Timestamp) -> Option<Cursor> {
        if self.first_start.is_some() {
            return None;
        }
        let first_start = *self.first_start.insert(first_id_after(now));
        Some(Cursor { scope: FIRST_START.to_owned(), position: first_start.to_string() })
    }

    /// Returns the message after which a channel is read for the first time. Messages before the
    /// first start, before the bot joined, or of long ago are ignored.
    pub(super) fn since(&self, joined: Option<Timestamp>, now: Timestamp) -> MessageId {
        let back = i64::try_from(LOOK_BACK.as_millis()).unwrap_or(i64::MAX);
        let limits = [self.first_start, joined.map(first_id_after)];
        let earliest = first_id_after(Timestamp(now.0.saturating_sub(back)));
        limits.into_iter().flatten().fold(earliest, MessageId::max)
    }
}

#[cfg(test)]
#[path = "positions_tests.rs"]
mod tests;
