//! How far each channel has been read, as the account's cursors keep it over restarts.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use avocet_protocol::{Cursor, Timestamp};
use serenity::model::id::{ChannelId, MessageId};

/// The scope of the cursor that keeps where the first start was.
const BEGAN: &str = "began";
/// Before a user's id: the scope of the cursor that keeps their direct message channel.
const DIRECT: &str = "direct ";
/// How far a channel is looked back into in which nothing has been read yet.
const LOOK_BACK: Duration = Duration::from_hours(24);
/// How far the platform's clock may be behind ours.
const CLOCKS_APART: Duration = Duration::from_mins(1);
/// The moment that the platform's ids begin at, in milliseconds since 1970 (Discord API, "Snowflakes").
const SNOWFLAKES_BEGIN: i64 = 1_420_070_400_000;

/// What has been read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The last message of each channel that is committed.
    last: BTreeMap<ChannelId, MessageId>,
    /// The direct message channel of each user who is allowed.
    direct: BTreeMap<u64, ChannelId>,
    /// What is older was before the first start.
    began: Option<MessageId>,
}

impl Reading {
    /// What the cursors say.
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

    /// Every channel in which something has been read, and the last of it.
    pub(crate) fn channels(&self) -> BTreeMap<ChannelId, MessageId> {
        self.last.clone()
    }

    /// The last of a channel, if something has been read there.
    pub(crate) fn last(&self, channel: ChannelId) -> Option<MessageId> {
        self.last.get(&channel).copied()
    }

    /// The place in the channel's history after the message; none if it is not further on.
    pub(crate) fn cursor(&self, channel: ChannelId, message: MessageId) -> Option<Cursor> {
        let further = self.last.get(&channel).is_none_or(|last| *last < message);
        further.then(|| Cursor { scope: channel.to_string(), position: message.to_string() })
    }

    pub(crate) fn has_read(&mut self, channel: ChannelId, message: MessageId) {
        let last = self.last.entry(channel).or_insert(message);
        *last = message.max(*last);
    }

    /// Every direct message channel that is known.
    pub(crate) fn direct_channels(&self) -> impl Iterator<Item = ChannelId> {
        self.direct.values().copied()
    }

    pub(crate) fn direct(&self, user: u64) -> Option<ChannelId> {
        self.direct.get(&user).copied()
    }

    /// Notes a user's direct message channel: what is to be kept of it.
    pub(crate) fn note_direct(&mut self, user: u64, channel: ChannelId) -> Cursor {
        self.direct.insert(user, channel);
        Cursor { scope: format!("{DIRECT}{user}"), position: channel.to_string() }
    }

    /// Notes the first start, if this is it: what is to be kept of it.
    pub(crate) fn note_beginning(&mut self, now: Timestamp) -> Option<Cursor> {
        if self.began.is_some() {
            return None;
        }
        let began = *self.began.insert(snowflake(now));
        Some(Cursor { scope: BEGAN.to_owned(), position: began.to_string() })
    }

    /// After which message a channel is looked at in which nothing has been read: what was said before
    /// the first start, before the bot could hear it or long ago is not for it.
    pub(crate) fn since(&self, joined: Option<Timestamp>, now: Timestamp) -> MessageId {
        let back = i64::try_from(LOOK_BACK.as_millis()).unwrap_or(i64::MAX);
        let limits = [self.began, joined.map(snowflake)];
        let earliest = snowflake(Timestamp(now.0.saturating_sub(back)));
        limits.into_iter().flatten().fold(earliest, MessageId::max)
    }
}

/// The smallest id of what was made after a moment, with room for clocks that differ.
pub(crate) fn snowflake(moment: Timestamp) -> MessageId {
    let apart = i64::try_from(CLOCKS_APART.as_millis()).unwrap_or_default();
    let millis = u64::try_from(moment.0 - apart - SNOWFLAKES_BEGIN).unwrap_or_default();
    MessageId::new((millis << 22).max(1))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
