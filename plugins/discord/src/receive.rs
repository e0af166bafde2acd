//! Processes received events one after the other: each is committed, with its position in the
//! channel's history, before the next. Events of a channel that has to catch up wait.

mod catch_up;
mod early_commands;
mod gaps;
mod new_channels;
mod positions;
mod requests;
mod schedule;
mod unreadable;

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;

use avocet_channel_kit::{Converted, Intake, Stopped};
use avocet_protocol::{ChannelContext, ChannelError, Cursor};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use serde_json::Value;
use serenity::model::application::Interaction;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, GuildId};

use crate::channels::{DiscordChannel, KnownChannels};
use crate::convert::{BotIdentity, MessageVersion};
use crate::gateway::{
    self, BotIds, GatewayClient, INTERACTION_CREATE, LiveEvent, MESSAGE_CREATE, MESSAGE_UPDATE,
    SessionEvent,
};
use crate::interactions::UserInteraction;
use crate::{Discord, lenient};

use gaps::Gaps;
use positions::ReadPositions;
use requests::FinishedRequest;
use schedule::Schedule;

/// Prefixes of events that belong to our intents, but are ignored.
const IGNORED_PREFIXES: [&str; 5] = ["CHANNEL_", "GUILD_", "MESSAGE_", "STAGE_", "THREAD_"];

/// Receives the events of a bot.
pub(crate) struct Receiver<'a> {
    discord: &'a Discord,
    context: &'a ChannelContext,
    intake: Intake<'a>,
    channels: KnownChannels,
    positions: ReadPositions,
    schedule: Schedule,
    /// Channels that have to catch up.
    gaps: Gaps,
    /// Deleted channels, which are never requested again.
    deleted: BTreeSet<ChannelId>,
    /// Events that waited in channels that have caught up.
    released: VecDeque<LiveEvent>,
    /// Servers of the session that are still to be described.
    undescribed: BTreeSet<GuildId>,
    /// `true` once the commands are registered, or were refused.
    commands_registered: bool,
}

/// The next input of the receiver.
enum ReceiverInput {
    Event(SessionEvent),
    Finished(FinishedRequest),
    /// A request is due.
    Due,
}

/// The reason for skipping a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkipReason {
    /// The message is the bot's own. It is not counted.
    Own,
    /// The message is counted under this reason.
    Ignored(&'static str),
}

/// Receives until the daemon stops, or until only the operator can help.
pub(crate) async fn run(discord: &Discord, context: &ChannelContext) -> Result<(), ChannelError> {
    let intake = discord.intake(context);
    let receive = async {
        let cursors = intake.cursors().await?;
        let (sender, events) = gateway::event_queue();
        let gateway = GatewayClient::new(discord, context, sender, &cursors);
        let mut receiver = Receiver::new(discord, context, &cursors);
        tokio::select! {
            biased;
            received = receiver.receive(&events) => received,
            ended = gateway.run() => Ok(ended?),
        }
    };
    intake.run(receive).await
}

impl Discord {
    pub(crate) fn intake<'a>(&'a self, context: &'a ChannelContext) -> Intake<'a> {
        Intake::new(&self.name, &self.account, context)
    }
}

impl<'a> Receiver<'a> {
    fn new(discord: &'a Discord, context: &'a ChannelContext, cursors: &[Cursor]) -> Self {
        let positions = ReadPositions::read(cursors);
        let mut channels = KnownChannels::default();
        for channel in positions.direct_channels() {
            channels.learn(channel, DiscordChannel::Direct);
        }
        Self {
            discord,
            context,
            intake: discord.intake(context),
            channels,
            positions,
            schedule: Schedule::default(),
            gaps: Gaps::default(),
            deleted: BTreeSet::new(),
            released: VecDeque::new(),
            undescribed: BTreeSet::new(),
            commands_registered: false,
        }
    }

    async fn receive(
        &mut self,
        events: &flume::Receiver<SessionEvent>,
    ) -> Result<Infallible, Stopped> {
        self.note_first_start().await?;
        let (mut bot, mut in_flight) = (None, FuturesUnordered::new());
        loop {
            while let (Some(bot), Some(event)) = (bot, self.released.pop_front()) {
                self.handle_event(bot, event).await?;
            }
            self.discord.health.note_unread(self.schedule.unread_channels());
            let due = bot.map(|bot| self.due_requests(bot)).unwrap_or_default();
            let requests = due.into_iter();
            in_flight.extend(requests.map(|request| self.discord.request(request, self.context)));
            match (self.next(events, &mut in_flight).await?, bot) {
                (ReceiverInput::Event(SessionEvent::Started { bot: started, servers }), _) => {
                    bot = Some(started);
                    in_flight.clear();
                    self.discord.note_user_id(started.user);
                    self.start_catch_up(servers);
                }
                (ReceiverInput::Event(SessionEvent::Dispatch(event)), Some(bot)) => {
                    self.handle_event(bot, event).await?;
                }
                (ReceiverInput::Finished(request), Some(bot)) => {
                    self.handle_result(bot, request).await?;
                }
                // Input before a session is ignored.
                (ReceiverInput::Due, _) | (_, None) => {}
            }
        }
    }

    async fn next(
        &self,
        events: &flume::Receiver<SessionEvent>,
        in_flight: &mut (impl Stream<Item = FinishedRequest> + Unpin),
    ) -> Result<ReceiverInput, Stopped> {
        let clock = &self.context.clock;
        let due = self.schedule.due().map(|due| due.saturating_sub(clock.elapsed()));
        tokio::select! {
            event = events.recv_async() => {
                event.map(ReceiverInput::Event).map_err(|_| Stopped::Requested)
            }
            Some(request) = in_flight.next() => Ok(ReceiverInput::Finished(request)),
            () = clock.sleep(due.unwrap_or_default()), if due.is_some() => Ok(ReceiverInput::Due),
        }
    }

    async fn handle_event(&mut self, bot: BotIds, event: LiveEvent) -> Result<(), Stopped> {
        let command = self.command_in(bot, &event);
        match (self.hold_back(event), command) {
            (Some(event), _) => self.dispatch(bot, &event.name, event.data).await,
            (None, Some(command)) => self.handle_early_command(bot, &command).await,
            (None, None) => Ok(()),
        }
    }

    async fn dispatch(&mut self, bot: BotIds, name: &str, data: Value) -> Result<(), Stopped> {
        match name {
            MESSAGE_CREATE => self.handle_raw_message(bot, &data).await,
            MESSAGE_UPDATE => self.handle_update(bot, &data).await,
            INTERACTION_CREATE => match lenient::interaction(&data) {
                Some(interaction) => self.handle_interaction(bot, &interaction).await,
                None => self.answer_unreadable_interaction(&data).await,
            },
            "GUILD_CREATE" => {
                self.discord.uploads.learn_from(&data);
                self.handle_server(&data);
                Ok(())
            }
            "GUILD_UPDATE" => {
                self.discord.uploads.learn_from(&data);
                Ok(())
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE"
            | "THREAD_LIST_SYNC" => {
                self.discord.uploads.learn_from(&data);
                self.channels.learn_from(&data);
                Ok(())
            }
            name if IGNORED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) => Ok(()),
            name => {
                tracing::debug!(name, "ignoring an event of another kind");
                self.intake.ignore("of another kind", None).await
            }
        }
    }

    /// Returns the type of a channel. Events of a channel with an unknown type are held back
    /// before, until the type has been fetched.
    fn channel_type(&self, channel: ChannelId) -> DiscordChannel {
        self.channels.get(channel).unwrap_or(DiscordChannel::Server)
    }

    /// Processes a message as the platform sends it, live or from the history.
    async fn handle_raw_message(&mut self, bot: BotIds, data: &Value) -> Result<(), Stopped> {
        match lenient::message(data) {
            Some(message) => self.handle_message(bot, &message).await,
            None => self.skip_unreadable(data).await,
        }
    }

    async fn handle_message(&mut self, bot: BotIds, message: &Message) -> Result<(), Stopped> {
        let channel_type = self.channel_type(message.channel_id);
        let cursor = self.positions.cursor(message.channel_id, message.id);
        match (self.skip_reason(bot, message, channel_type), cursor) {
            (None, cursor) => {
                let version = MessageVersion::Original;
                let converted = self.identity(bot).message(message, channel_type, version);
                self.intake.take(converted, cursor).await?;
            }
            (Some(SkipReason::Ignored(reason)), cursor) => {
                self.intake.ignore(reason, cursor).await?;
            }
            (Some(SkipReason::Own), Some(cursor)) => self.intake.move_cursor(cursor).await?,
            (Some(SkipReason::Own), None) => {}
        }
        self.positions.note_read(message.channel_id, message.id);
        Ok(())
    }

    /// Returns the reason for skipping a message; `None` if the message is for the agent.
    fn skip_reason(
        &self,
        bot: BotIds,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Option<SkipReason> {
        if message.author.id == bot.user {
            return Some(SkipReason::Own);
        }
        self.identity(bot).why_not(message, channel_type).map(SkipReason::Ignored)
    }

    /// Processes an update. Discord also sends one when it has looked up a link; then the message
    /// is the same.
    async fn handle_update(&mut self, bot: BotIds, data: &Value) -> Result<(), Stopped> {
        if data["edited_timestamp"].is_null() {
            return Ok(());
        }
        let Some(message) = lenient::message(data) else {
            tracing::info!("cannot read an edit; ignoring it");
            return self.intake.ignore("unreadable", None).await;
        };
        self.handle_edit(bot, &message).await
    }

    /// Processes an edit of a message.
    async fn handle_edit(&mut self, bot: BotIds, message: &Message) -> Result<(), Stopped> {
        let channel_type = self.channel_type(message.channel_id);
        match self.skip_reason(bot, message, channel_type) {
            Some(SkipReason::Own) => Ok(()),
            Some(SkipReason::Ignored(reason)) => self.intake.ignore(reason, None).await,
            None => {
                let version = MessageVersion::Edited;
                let converted = self.identity(bot).message(message, channel_type, version);
                self.intake.take(converted, None).await?;
                Ok(())
            }
        }
    }

    async fn handle_interaction(
        &mut self,
        bot: BotIds,
        interaction: &Interaction,
    ) -> Result<(), Stopped> {
        let Some(interaction) = UserInteraction::read(interaction) else {
            return self.intake.ignore("of another kind", None).await;
        };
        let channel_type = self.channel_type(interaction.channel);
        let converted = Converted::inbound(interaction.inbound(&self.identity(bot), channel_type));
        self.intake.take(converted, None).await?;
        let UserInteraction { id, token, response, .. } = &interaction;
        self.discord.respond(self.context.clock.as_ref(), *id, token, response).await;
        Ok(())
    }

    fn identity(&self, bot: BotIds) -> BotIdentity<'a> {
        let Discord { name, account, settings, .. } = self.discord;
        BotIdentity {
            user: bot.user,
            channel: name,
            account,
            answer_all: settings.answer_all,
            unmentioned: &settings.unmentioned,
            commands: self.context.commands.as_ref(),
        }
    }
}
