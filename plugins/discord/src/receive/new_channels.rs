//! Channels that are read for the first time, without a cursor. Their first messages may have come
//! while the bot was away. The direct message channels of allowed users are requested; a server
//! describes its channels with a new session.

use std::time::Duration;

use avocet_channel_kit::Stopped;
use avocet_protocol::clock::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, UserId};

use crate::channels::{DiscordChannel, described};
use crate::history::first_id_after;

use super::Receiver;
use super::gaps::CatchUpStep;
use super::schedule::{Subject, When};

impl Receiver<'_> {
    /// Notes the time of the first start.
    pub(super) async fn note_first_start(&mut self) -> Result<(), Stopped> {
        match self.positions.note_first_start(self.context.clock.now()) {
            Some(cursor) => self.intake.move_cursor(cursor).await,
            None => Ok(()),
        }
    }

    /// Looks for the first direct messages of allowed users.
    pub(super) fn find_direct_channels(&mut self, now: Duration) {
        for user in &self.discord.settings.allow {
            match self.positions.direct(*user) {
                Some(channel) => self.read_from_start(channel, now),
                None => self.schedule.add(Subject::Person(*user), When::At(now)),
            }
        }
    }

    /// Notes the direct message channel of a user.
    pub(super) async fn handle_direct_channel(
        &mut self,
        user: u64,
        channel: ChannelId,
    ) -> Result<(), Stopped> {
        let cursor = self.positions.note_direct(user, channel);
        self.intake.move_cursor(cursor).await?;
        self.schedule.remove(Subject::Person(user));
        self.read_from_start(channel, self.context.clock.elapsed());
        Ok(())
    }

    /// Reads a direct message channel from the beginning, unless it was read before.
    fn read_from_start(&mut self, channel: ChannelId, now: Duration) {
        self.channels.note_type(channel, DiscordChannel::Direct);
        if self.positions.last(channel).is_none() && self.gaps.get(channel).is_none() {
            let earliest = self.positions.since(None, self.context.clock.now());
            self.gaps.note(channel, earliest, CatchUpStep::Missed);
            self.schedule.add(Subject::Channel(channel), When::At(now));
        }
    }

    /// Reads the channel of a user who writes in private before their channel is known: there may
    /// be earlier messages.
    pub(super) fn note_direct_writer(&mut self, channel: ChannelId, message: &Value) {
        let Ok(user) = UserId::deserialize(&message["author"]["id"]) else { return };
        let subject = Subject::Person(user.get());
        if self.channels.get(channel) == Some(DiscordChannel::Direct)
            && self.schedule.when(subject).is_some()
        {
            self.read_from_start(channel, self.context.clock.elapsed());
        }
    }

    /// Looks for new messages in the channels of a server.
    pub(super) fn find_new_channels(&mut self, server: &Value) {
        let joined = serenity::model::Timestamp::deserialize(&server["joined_at"]).ok();
        let joined = joined.map(|joined| Timestamp(joined.unix_timestamp() * 1000));
        let earliest = self.positions.since(joined, self.context.clock.now());
        for channel in described(server) {
            if channel.channel_type() == DiscordChannel::Direct {
                continue;
            }
            self.handle_listed_channel(&channel, joined.map(first_id_after), earliest);
        }
    }
}
