//! Processes received events one after the other: each is committed, with its position in the
//! channel's history, before the next. Events of a channel that has to catch up wait.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;

use avocet_protocol::{ChannelContext, ChannelError, Cursor};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use serde_json::Value;
use serenity::model::application::Interaction;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, GuildId};

use crate::agenda::Agenda;
use crate::budget::Budget;
use crate::commit::{NotCommitted, committed};
use crate::convert::{BotIdentity, Converted};
use crate::gaps::{EDITED, Gaps, PRESSED, SAID};
use crate::gateway::{self, GatewayClient, Live, Me, SessionEvent};
use crate::history::AnsweredQuestion;
use crate::interactions::Called;
use crate::places::{ChannelPlace, Places};
use crate::reading::Reading;
use crate::{Discord, misread};

/// Prefixes of events that belong to our intents, but are ignored.
const OF_NO_USE: [&str; 5] = ["CHANNEL_", "GUILD_", "MESSAGE_", "STAGE_", "THREAD_"];

/// Receives the events of a bot.
pub(crate) struct Receiver<'a> {
    pub(crate) discord: &'a Discord,
    pub(crate) context: &'a ChannelContext,
    pub(crate) places: Places,
    pub(crate) read: Reading,
    pub(crate) agenda: Agenda,
    /// Channels that have to catch up.
    pub(crate) gaps: Gaps,
    /// Deleted channels, which are never requested again.
    pub(crate) gone: BTreeSet<ChannelId>,
    /// Events that waited in channels that have caught up.
    pub(crate) released: VecDeque<Live>,
    /// Servers of the session that are still to be described.
    pub(crate) undescribed: BTreeSet<GuildId>,
    /// `true` once the commands are registered, or were refused.
    pub(crate) offered: bool,
}

/// The next input of the receiver.
enum ReceiverInput {
    Event(SessionEvent),
    Answer(AnsweredQuestion),
    /// A request is due.
    Due,
}

/// The reason why the receiver stops.
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
    let gateway = GatewayClient::new(
        discord,
        context,
        sender,
        Budget::read(&cursors, context.clock.elapsed()),
    );
    let mut receiver = Receiver::new(discord, context, &cursors);
    tokio::select! {
        biased;
        () = context.stop.cancelled() => Ok(()),
        received = receiver.receive(&events) => match received {
            Ok(never) => match never {},
            Err(Stopped::Asked) => Ok(()),
            Err(Stopped::Because(error)) => Err(error),
        },
        ended = gateway.run() => ended.map(|never| match never {}),
    }
}

impl<'a> Receiver<'a> {
    fn new(discord: &'a Discord, context: &'a ChannelContext, cursors: &[Cursor]) -> Self {
        let read = Reading::of(cursors);
        let mut places = Places::default();
        for channel in read.direct_channels() {
            places.learn(channel, ChannelPlace::Private);
        }
        Self {
            discord,
            context,
            places,
            read,
            agenda: Agenda::default(),
            gaps: Gaps::default(),
            gone: BTreeSet::new(),
            released: VecDeque::new(),
            undescribed: BTreeSet::new(),
            offered: false,
        }
    }

    async fn receive(
        &mut self,
        events: &flume::Receiver<SessionEvent>,
    ) -> Result<Infallible, Stopped> {
        self.note_beginning().await?;
        let (mut me, mut asking) = (None, FuturesUnordered::new());
        loop {
            while let (Some(me), Some(live)) = (me, self.released.pop_front()) {
                self.heard(me, live).await?;
            }
            self.discord.health.note_unread(self.agenda.complaint());
            let questions = me.map(|me| self.questions(me)).unwrap_or_default();
            asking.extend(
                questions.into_iter().map(|question| self.discord.asked(question, self.context)),
            );
            match (self.next(events, &mut asking).await?, me) {
                (ReceiverInput::Event(SessionEvent::Began(begun, servers)), _) => {
                    me = Some(begun);
                    asking.clear();
                    self.begun(begun, servers);
                }
                (ReceiverInput::Event(SessionEvent::Dispatch(live)), Some(me)) => {
                    self.heard(me, live).await?;
                }
                (ReceiverInput::Answer(asked), Some(me)) => self.answered(me, asked).await?,
                // Input before a session is ignored.
                (ReceiverInput::Due, _) | (_, None) => {}
            }
        }
    }

    async fn next(
        &self,
        events: &flume::Receiver<SessionEvent>,
        asking: &mut (impl Stream<Item = AnsweredQuestion> + Unpin),
    ) -> Result<ReceiverInput, Stopped> {
        let clock = &self.context.clock;
        let due = self.agenda.due().map(|due| due.saturating_sub(clock.elapsed()));
        tokio::select! {
            event = events.recv_async() => {
                event.map(ReceiverInput::Event).map_err(|_| Stopped::Asked)
            }
            Some(asked) = asking.next() => Ok(ReceiverInput::Answer(asked)),
            () = clock.sleep(due.unwrap_or_default()), if due.is_some() => Ok(ReceiverInput::Due),
        }
    }

    /// Begins a new session: messages may be missing in every channel.
    fn begun(&mut self, me: Me, servers: BTreeSet<GuildId>) {
        self.discord.note_user_id(me.user);
        self.catch_up(servers);
    }

    async fn heard(&mut self, me: Me, live: Live) -> Result<(), Stopped> {
        let command = self.command_in(me, &live);
        match (self.too_early(live), command) {
            (Some(live), _) => self.take(me, &live.name, live.data).await,
            (None, Some(command)) => self.hear_at_once(me, &command).await,
            (None, None) => Ok(()),
        }
    }

    async fn take(&mut self, me: Me, name: &str, data: Value) -> Result<(), Stopped> {
        match name {
            SAID => self.hear_raw(me, &data).await,
            EDITED => self.updated(me, &data).await,
            PRESSED => match misread::interaction(&data) {
                Some(interaction) => self.called(me, &interaction).await,
                None => self.misunderstood(&data).await,
            },
            "GUILD_CREATE" => {
                self.discord.uploads.learn_from(&data);
                self.server(&data);
                Ok(())
            }
            "GUILD_UPDATE" => {
                self.discord.uploads.learn_from(&data);
                Ok(())
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE"
            | "THREAD_LIST_SYNC" => {
                self.discord.uploads.learn_from(&data);
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

    /// Returns the type of a channel. Events of a channel with an unknown type are held back
    /// before, until the type has been fetched.
    pub(crate) fn place(&self, channel: ChannelId) -> ChannelPlace {
        self.places.get(channel).unwrap_or(ChannelPlace::Channel)
    }

    /// Processes a message as the platform sends it, live or from the history.
    pub(crate) async fn hear_raw(&mut self, me: Me, data: &Value) -> Result<(), Stopped> {
        match misread::message(data) {
            Some(message) => self.hear(me, &message).await,
            None => self.unreadable(data).await,
        }
    }

    async fn hear(&mut self, me: Me, message: &Message) -> Result<(), Stopped> {
        let place = self.place(message.channel_id);
        if let Some(reason) = self.why_not(me, message, place) {
            return self.pass_over(message, reason).await;
        }
        let converted = self.bot(me).message(message, place, false);
        let cursor = self.read.cursor(message.channel_id, message.id);
        self.commit(converted, cursor).await?;
        self.read.has_read(message.channel_id, message.id);
        Ok(())
    }

    pub(crate) fn why_not(
        &self,
        me: Me,
        message: &Message,
        place: ChannelPlace,
    ) -> Option<Option<&'static str>> {
        match message.author.id == me.user {
            true => Some(None),
            false => self.bot(me).why_not(message, place).map(Some),
        }
    }

    /// Passes over an ignored message. Our own messages are not counted.
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

    /// Processes an update. Discord also sends one when it has looked up a link; then the message
    /// is the same.
    async fn updated(&mut self, me: Me, data: &Value) -> Result<(), Stopped> {
        if data["edited_timestamp"].is_null() {
            return Ok(());
        }
        let Some(message) = misread::message(data) else {
            tracing::info!("an edit that cannot be read");
            return self.ignore("unreadable", None).await;
        };
        self.edited(me, &message).await
    }

    /// Processes an edit of a message.
    pub(crate) async fn edited(&mut self, me: Me, message: &Message) -> Result<(), Stopped> {
        let place = self.place(message.channel_id);
        match self.why_not(me, message, place) {
            Some(None) => Ok(()),
            Some(Some(reason)) => self.ignore(reason, None).await,
            None => {
                let converted = self.bot(me).message(message, place, true);
                self.commit(converted, None).await
            }
        }
    }

    async fn called(&mut self, me: Me, interaction: &Interaction) -> Result<(), Stopped> {
        let Some(called) = Called::read(interaction) else {
            return self.ignore("of another kind", None).await;
        };
        let place = self.place(called.channel);
        let converted = Converted::of(called.inbound(&self.bot(me), place));
        self.commit(converted, None).await?;
        let Called { id, token, answer, .. } = &called;
        self.discord.answer(self.context.clock.as_ref(), *id, token, answer).await;
        Ok(())
    }

    pub(crate) fn bot(&self, me: Me) -> BotIdentity<'a> {
        let Discord { name, account, settings, .. } = self.discord;
        BotIdentity {
            me: me.user,
            channel: name,
            account,
            answer_all: settings.answer_all,
            unmentioned: &settings.unmentioned,
            commands: self.context.commands.as_ref(),
        }
    }
}
