//! Channels in which nothing has been read yet: what was said there first, while nobody listened, is
//! behind no cursor. Direct messages of those who are allowed are asked for; a server describes its
//! channels when a session begins.

use avocet_protocol::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::http::{LightMethod, Route};
use serenity::model::id::{ChannelId, MessageId};

use crate::fault::Fault;
use crate::gateway::Me;
use crate::places::Place;
use crate::receive::{Receiver, Stopped};

/// What is read of a channel.
#[derive(Debug, Deserialize)]
struct Spoken {
    id: ChannelId,
    #[serde(default)]
    last_message_id: Option<MessageId>,
}

impl Receiver<'_> {
    /// Notes when it began to listen for the first time.
    pub(crate) async fn note_beginning(&mut self) -> Result<(), Stopped> {
        match self.read.note_beginning(self.context.clock.now()) {
            Some(cursor) => self.move_to(cursor).await,
            None => Ok(()),
        }
    }

    /// Reads the first direct messages of those who are allowed.
    pub(crate) async fn meet_people(&mut self, me: Me) -> Result<(), Stopped> {
        for user in self.discord.allow.clone() {
            let Some(channel) = self.direct(user).await? else { continue };
            if !self.read.knows(channel) {
                let since = self.read.since(None, self.context.clock.now());
                self.catch_up_in(me, channel, Place::Private, since).await?;
            }
        }
        Ok(())
    }

    /// Somebody's direct message channel; none if the platform does not make one.
    async fn direct(&mut self, user: u64) -> Result<Option<ChannelId>, Stopped> {
        if let Some(channel) = self.read.direct(user) {
            return Ok(Some(channel));
        }
        let opened = self.patiently(|| self.open_direct(user)).await?;
        let Some(Spoken { id, .. }) = opened else { return Ok(None) };
        let cursor = self.read.note_direct(user, id);
        self.move_to(cursor).await?;
        Ok(Some(id))
    }

    async fn open_direct(&self, user: u64) -> Result<Spoken, Fault> {
        let body = json!({ "recipient_id": user.to_string() });
        let rest = &self.discord.rest;
        rest.send(LightMethod::Post, Route::UserMeDmChannels, &body).await?.read()
    }

    /// Reads the first messages of a server's channels.
    pub(crate) async fn meet_server(&mut self, me: Me, server: &Value) -> Result<(), Stopped> {
        let joined = serenity::model::Timestamp::deserialize(&server["joined_at"]).ok();
        let joined = joined.map(|joined| Timestamp(joined.unix_timestamp() * 1000));
        let since = self.read.since(joined, self.context.clock.now());
        for Spoken { id, last_message_id } in spoken(server) {
            let place = self.places.get(id).filter(|place| *place != Place::Private);
            let is_new = last_message_id.is_some_and(|last| last > since);
            if let (Some(place), true) = (place, is_new && !self.read.knows(id)) {
                self.catch_up_in(me, id, place, since).await?;
            }
        }
        Ok(())
    }
}

/// The channels and threads of a server.
fn spoken(server: &Value) -> Vec<Spoken> {
    let lists = ["channels", "threads"].iter().filter_map(|list| server[list].as_array());
    lists.flatten().flat_map(Spoken::deserialize).collect()
}
