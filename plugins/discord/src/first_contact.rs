//! Channels that are read for the first time, without a cursor. Their first messages may have come
//! while the bot was away. The direct message channels of allowed users are requested; a server
//! describes its channels with a new session.

use std::time::Duration;

use avocet_protocol::Timestamp;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::model::id::{ChannelId, UserId};

use crate::Discord;
use crate::agenda::{Subject, When};
use crate::fault::RestError;
use crate::gaps::Look;
use crate::places::{ChannelPlace, described};
use crate::reading::snowflake;
use crate::receive::{Receiver, Stopped};
use crate::routes::Route;

/// The used fields of an opened channel.
#[derive(Debug, Deserialize)]
struct OpenedChannel {
    id: ChannelId,
}

impl Receiver<'_> {
    /// Notes the time of the first start.
    pub(crate) async fn note_beginning(&mut self) -> Result<(), Stopped> {
        match self.read.note_beginning(self.context.clock.now()) {
            Some(cursor) => self.move_to(cursor).await,
            None => Ok(()),
        }
    }

    /// Looks for the first direct messages of allowed users.
    pub(crate) fn meet_people(&mut self, now: Duration) {
        for user in &self.discord.settings.allow {
            match self.read.direct(*user) {
                Some(channel) => self.meet_in(channel, now),
                None => self.agenda.add(Subject::Person(*user), When::At(now)),
            }
        }
    }

    /// Notes the direct message channel of a user.
    pub(crate) async fn met(&mut self, user: u64, channel: ChannelId) -> Result<(), Stopped> {
        let cursor = self.read.note_direct(user, channel);
        self.move_to(cursor).await?;
        self.agenda.remove(Subject::Person(user));
        self.meet_in(channel, self.context.clock.elapsed());
        Ok(())
    }

    /// Reads a direct message channel from the beginning, unless it was read before.
    fn meet_in(&mut self, channel: ChannelId, now: Duration) {
        self.places.learn(channel, ChannelPlace::Private);
        if self.read.last(channel).is_none() && self.gaps.get(channel).is_none() {
            let since = self.read.since(None, self.context.clock.now());
            self.gaps.note(channel, since, Look::Missed);
            self.agenda.add(Subject::Channel(channel), When::At(now));
        }
    }

    /// Reads the channel of a user who writes in private before their channel is known: there may
    /// be earlier messages.
    pub(crate) fn meet_writer(&mut self, channel: ChannelId, message: &Value) {
        let Ok(user) = UserId::deserialize(&message["author"]["id"]) else { return };
        let subject = Subject::Person(user.get());
        if self.places.get(channel) == Some(ChannelPlace::Private)
            && self.agenda.when(subject).is_some()
        {
            self.meet_in(channel, self.context.clock.elapsed());
        }
    }

    /// Looks for new messages in the channels of a server.
    pub(crate) fn meet_server(&mut self, server: &Value) {
        let joined = serenity::model::Timestamp::deserialize(&server["joined_at"]).ok();
        let joined = joined.map(|joined| Timestamp(joined.unix_timestamp() * 1000));
        let since = self.read.since(joined, self.context.clock.now());
        for channel in described(server).filter(|channel| channel.place() != ChannelPlace::Private)
        {
            self.listed(&channel, joined.map(snowflake), since);
        }
    }
}

impl Discord {
    pub(crate) async fn open_direct(&self, user: u64) -> Result<ChannelId, RestError> {
        let body = json!({ "recipient_id": user.to_string() });
        let opened = self.rest.send(Method::POST, Route::UserMeDmChannels, &body).await?;
        opened.read().map(|OpenedChannel { id }| id)
    }
}
