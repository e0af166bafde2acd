//! What comes in, one after the other: each is committed, with the place in its channel's history,
//! before the next is looked at.

use avocet_protocol::{ChannelContext, ChannelError, Cursor};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::application::Interaction;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, MessageId};

use crate::Discord;
use crate::budget::Budget;
use crate::commit::{NotCommitted, committed};
use crate::convert::{Bot, Converted};
use crate::gateway::{self, Event, Gateway, Me};
use crate::interactions::Called;
use crate::places::{Place, Places};
use crate::reading::Reading;

/// Events of the intents that we have no use for.
const OF_NO_USE: [&str; 5] = ["CHANNEL_", "GUILD_", "MESSAGE_", "STAGE_", "THREAD_"];

/// A channel that receives.
pub(crate) struct Receiver<'a> {
    pub(crate) discord: &'a Discord,
    pub(crate) context: &'a ChannelContext,
    pub(crate) places: Places,
    pub(crate) read: Reading,
    offered: bool,
}

/// Why the receiver has nothing to go on with.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The daemon stops.
    Asked,
    Because(ChannelError),
}

impl From<NotCommitted> for Stopped {
    fn from(error: NotCommitted) -> Self {
        match error {
            NotCommitted::Stopping => Self::Asked,
            NotCommitted::Log(error) => Self::Because(ChannelError::Interrupted(error.to_string())),
        }
    }
}

/// Receives until the daemon stops, or until only the operator can help.
pub(crate) async fn run(discord: &Discord, context: &ChannelContext) -> Result<(), ChannelError> {
    let reading = || context.publish.cursors(&discord.name, &discord.account);
    let cursors = match committed(context, reading).await {
        Ok(Ok(cursors)) => cursors,
        Ok(Err(error)) => return Err(ChannelError::Interrupted(error.to_string())),
        Err(error) => return error.into(),
    };
    let (sender, events) = gateway::queue();
    let gateway =
        Gateway::new(discord, context, sender, Budget::read(&cursors, context.clock.elapsed()));
    let mut receiver = Receiver::new(discord, context, &cursors);
    tokio::select! {
        biased;
        () = context.stop.cancelled() => Ok(()),
        stopped = receiver.receive(&events) => match stopped {
            Stopped::Asked => Ok(()),
            Stopped::Because(error) => Err(error),
        },
        ended = gateway.run() => ended.map(|never| match never {}),
    }
}

impl<'a> Receiver<'a> {
    fn new(discord: &'a Discord, context: &'a ChannelContext, cursors: &[Cursor]) -> Self {
        let (places, read) = (Places::default(), Reading::of(cursors));
        Self { discord, context, places, read, offered: false }
    }

    async fn receive(&mut self, events: &flume::Receiver<Event>) -> Stopped {
        if let Err(stopped) = self.note_beginning().await {
            return stopped;
        }
        let mut me = None;
        while let Ok(event) = events.recv_async().await {
            let taken = match (event, me) {
                (Event::Began(begun), _) => {
                    me = Some(begun);
                    self.begun(begun).await
                }
                (Event::Dispatch { name, data }, Some(me)) => self.take(me, &name, data).await,
                // Nothing comes before a session.
                (Event::Dispatch { .. }, None) => Ok(()),
            };
            if let Err(stopped) = taken {
                return stopped;
            }
        }
        Stopped::Asked
    }

    /// A new session: what was missed is read before anything new.
    async fn begun(&mut self, me: Me) -> Result<(), Stopped> {
        self.discord.is(me.user);
        self.catch_up(me).await?;
        self.meet_people(me).await?;
        if !self.offered {
            self.discord.offer(me.application, &self.context.commands).await;
            self.offered = true;
        }
        Ok(())
    }

    async fn take(&mut self, me: Me, name: &str, data: Value) -> Result<(), Stopped> {
        match name {
            "MESSAGE_CREATE" => match Message::deserialize(&data) {
                Ok(message) => self.said(me, &message).await,
                Err(_) => self.unreadable(&data).await,
            },
            "MESSAGE_UPDATE" => self.updated(me, &data).await,
            "INTERACTION_CREATE" => match Interaction::deserialize(&data) {
                Ok(interaction) => self.called(me, &interaction).await,
                Err(_) => self.ignore("unreadable", None).await,
            },
            "GUILD_CREATE" => {
                self.places.learn_from(&data);
                self.meet_server(me, &data).await
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" => {
                self.places.learn_from(&data);
                Ok(())
            }
            name if OF_NO_USE.iter().any(|prefix| name.starts_with(prefix)) => Ok(()),
            name => {
                tracing::debug!(name, "an event of another kind");
                self.ignore("of another kind", None).await
            }
        }
    }

    /// A message that came by the gateway.
    async fn said(&mut self, me: Me, message: &Message) -> Result<(), Stopped> {
        let place = self.place(message.channel_id, message.guild_id.is_none()).await?;
        self.hear(me, message, place).await
    }

    /// A message, live or of the history.
    pub(crate) async fn hear(
        &mut self,
        me: Me,
        message: &Message,
        place: Place,
    ) -> Result<(), Stopped> {
        if let Some(reason) = self.why_not(me, message, place) {
            return self.pass_over(message, reason).await;
        }
        let converted = self.bot(me).message(message, place, false);
        let cursor = self.read.cursor(message.channel_id, message.id);
        self.commit(converted, cursor).await?;
        self.read.has_read(message.channel_id, message.id);
        Ok(())
    }

    fn why_not(&self, me: Me, message: &Message, place: Place) -> Option<Option<&'static str>> {
        match message.author.id == me.user {
            true => Some(None),
            false => self.bot(me).why_not(message, place).map(Some),
        }
    }

    /// A message that is not for the agent. What we said ourselves is not counted.
    async fn pass_over(
        &mut self,
        message: &Message,
        reason: Option<&'static str>,
    ) -> Result<(), Stopped> {
        let cursor = self.read.cursor(message.channel_id, message.id);
        match (reason, cursor) {
            (Some(reason), cursor) => self.ignore(reason, cursor).await?,
            (None, Some(cursor)) => self.move_to(cursor).await?,
            (None, None) => {}
        }
        self.read.has_read(message.channel_id, message.id);
        Ok(())
    }

    /// Discord also sends this when it has looked up a link; then nothing was edited.
    async fn updated(&mut self, me: Me, data: &Value) -> Result<(), Stopped> {
        if data["edited_timestamp"].is_null() {
            return Ok(());
        }
        let Ok(message) = Message::deserialize(data) else {
            return self.ignore("unreadable", None).await;
        };
        let place = self.place(message.channel_id, message.guild_id.is_none()).await?;
        match self.why_not(me, &message, place) {
            Some(None) => Ok(()),
            Some(Some(reason)) => self.ignore(reason, None).await,
            None => {
                let converted = self.bot(me).message(&message, place, true);
                self.commit(converted, None).await
            }
        }
    }

    async fn called(&mut self, me: Me, interaction: &Interaction) -> Result<(), Stopped> {
        let Some(called) = Called::read(interaction) else {
            return self.ignore("of another kind", None).await;
        };
        let place = self.place(called.channel, called.private).await?;
        let converted = Converted::of(called.inbound(&self.bot(me), place));
        self.commit(converted, None).await?;
        self.discord.answer(self.context.clock.as_ref(), &called).await;
        Ok(())
    }

    /// A message that cannot be read is passed over, if it can be seen which one it is.
    pub(crate) async fn unreadable(&mut self, data: &Value) -> Result<(), Stopped> {
        let channel = ChannelId::deserialize(&data["channel_id"]).ok();
        let message = MessageId::deserialize(&data["id"]).ok();
        let place = channel.zip(message);
        let cursor = place.and_then(|(channel, message)| self.read.cursor(channel, message));
        self.ignore("unreadable", cursor).await?;
        if let Some((channel, message)) = place {
            self.read.has_read(channel, message);
        }
        Ok(())
    }

    fn bot(&self, me: Me) -> Bot<'a> {
        let Discord { name, account, answer_all, unmentioned, .. } = self.discord;
        let commands = self.context.commands.as_ref();
        let answer_all = *answer_all;
        Bot { me: me.user, channel: name, account, answer_all, unmentioned, commands }
    }
}
