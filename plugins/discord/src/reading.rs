//! The read position of each channel, which the account's cursors keep over restarts.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use avocet_protocol::{Cursor, Timestamp};
use serenity::model::id::{ChannelId, MessageId};

/// The scope of the cursor with the time of the first start.
const BEGAN: &str = "began";
/// Comes before a user's id: the scope of the cursor with their direct message channel.
const DIRECT: &str = "direct ";
/// Time to look back in a channel that was never read.
const LOOK_BACK: Duration = Duration::from_hours(24);
/// Time that the platform's clock may be behind ours.
const CLOCKS_APART: Duration = Duration::from_mins(1);
/// Time at which the platform's ids begin, in milliseconds since 1970 (Discord API, "Snowflakes").
const SNOWFLAKES_BEGIN: i64 = 1_420_070_400_000;

/// The read positions.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The last committed message of each channel.
    last: BTreeMap<ChannelId, MessageId>,
    /// The direct message channel of each allowed user.
    direct: BTreeMap<u64, ChannelId>,
    /// The first start: older messages are ignored.
    began: Option<MessageId>,
}

impl Reading {
    /// Reads the positions from the cursors.
    pub(crate) fn of(cursors: &[Cursor]) -> Self {
        let mut reading = Self::default();
        for Cursor { scope, position } in cursors {
            let Ok(position) = position.parse::<NonZeroU64>() else { continue };
            if let Ok(channel) = scope.parse::<NonZeroU64>() {
                reading.last.insert(channel.into(), position.into());
            } else if let Some(Ok(user)) = scope.strip_prefix(DIRECT).map(str::parse) {
                reading.direct.insert(user, position.into());
            } else if scope == BEGAN {
                reading.began = Some(position.into());
            }
        }
        reading
    }

    /// Returns every channel that was read, with its last read message.
    pub(crate) fn channels(&self) -> BTreeMap<ChannelId, MessageId> {
        self.last.clone()
    }

    /// Returns the last read message of a channel.
    pub(crate) fn last(&self, channel: ChannelId) -> Option<MessageId> {
        self.last.get(&channel).copied()
    }

    /// Returns the cursor for a message of a channel; `None` if the channel was read further
    /// already.
    pub(crate) fn cursor(&self, channel: ChannelId, message: MessageId) -> Option<Cursor> {
        let further = self.last.get(&channel).is_none_or(|last| *last < message);
        further.then(|| Cursor { scope: channel.to_string(), position: message.to_string() })
    }

    pub(crate) fn has_read(&mut self, channel: ChannelId, message: MessageId) {
        let last = self.last.entry(channel).or_insert(message);
        *last = message.max(*last);
    }

    /// Returns every known direct message channel.
    pub(crate) fn direct_channels(&self) -> impl Iterator<Item = ChannelId> {
        self.direct.values().copied()
    }

    pub(crate) fn direct(&self, user: u64) -> Option<ChannelId> {
        self.direct.get(&user).copied()
    }

    /// Notes a user's direct message channel. Returns the cursor to store.
    pub(crate) fn note_direct(&mut self, user: u64, channel: ChannelId) -> Cursor {
        self.direct.insert(user, channel);
        Cursor { scope: format!("{DIRECT}{user}"), position: channel.to_string() }
    }

    /// Notes the first start, if this is it. Returns the cursor to store.
    pub(crate) fn note_beginning(&mut self, now: Timestamp) -> Option<Cursor> {
        if self.began.is_some() {
            return None;
        }
        let began = *self.began.insert(snowflake(now));
        Some(Cursor { scope: BEGAN.to_owned(), position: began.to_string() })
    }

    /// Returns the message after which a channel is read for the first time. Messages before the
    /// first start, before the bot joined, or of long ago are ignored.
    pub(crate) fn since(&self, joined: Option<Timestamp>, now: Timestamp) -> MessageId {
        let back = i64::try_from(LOOK_BACK.as_millis()).unwrap_or(i64::MAX);
        let limits = [self.began, joined.map(snowflake)];
        let earliest = snowflake(Timestamp(now.0.saturating_sub(back)));
        limits.into_iter().flatten().fold(earliest, MessageId::max)
    }
}

/// Returns the smallest id of messages after a moment, with room for clocks that differ.
pub(crate) fn snowflake(moment: Timestamp) -> MessageId {
    let apart = i64::try_from(CLOCKS_APART.as_millis()).unwrap_or_default();
    let millis = u64::try_from(moment.0 - apart - SNOWFLAKES_BEGIN).unwrap_or_default();
    MessageId::new((millis << 22).max(1))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
