//! Processes received events one after the other: each is committed, with its position in the
//! channel's history, before the next. Events of a channel that has to catch up wait.

mod background;
mod catch_up;
mod deletions;
mod early_commands;
mod gaps;
mod member_roles;
mod messages;
mod new_channels;
mod positions;
mod posts;
mod reaction_queue;
mod recent;
mod requests;
mod schedule;
mod stages;
mod unreadable;
mod user_reactions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;

use avocet_channel_kit::{Converted, Intake, NO_ACCESS, Stopped, Taken};
use avocet_protocol::channel::{ChannelContext, ChannelError};
use avocet_protocol::chat::{ChatAddress, Cursor};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use serde_json::Value;
use serenity::builder::CreateInteractionResponse;
use serenity::model::application::Interaction;
use serenity::model::id::{ChannelId, GuildId, MessageId};

use crate::bounded::{KnownMap, KnownSet, MAX_KNOWN};
use crate::channels::{DiscordChannel, KnownChannels, described};
use crate::convert::BotIdentity;
use crate::discord::reactions::ReactionChange;
use crate::discord::threads::Threads;
use crate::gateway::{
    self, BotIds, GatewayClient, INTERACTION_CREATE, LiveEvent, MESSAGE_CREATE, MESSAGE_DELETE,
    MESSAGE_UPDATE, SessionEvent,
};
use crate::interactions::{InteractionKind, UserInteraction};
use crate::names::KnownNames;
use crate::{Discord, lenient};

use background::BackgroundRequest;
use deletions::MESSAGE_DELETE_BULK;
use gaps::Gaps;
use member_roles::MemberRoles;
use positions::ReadPositions;
use posts::ForumPosts;
use reaction_queue::ReactionQueue;
use recent::RecentMessages;
use requests::FinishedRequest;
use schedule::Schedule;
use user_reactions::UserReactions;

/// Prefixes of events that belong to our intents, but are ignored.
const IGNORED_PREFIXES: [&str; 5] = ["CHANNEL_", "GUILD_", "MESSAGE_", "STAGE_", "THREAD_"];

/// Prefixes of events that show the names of channels and roles.
const NAMING_PREFIXES: [&str; 3] = ["CHANNEL_", "GUILD_", "THREAD_"];

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
    /// Threads in which the bot has written.
    spoken: KnownSet<ChannelId>,
    posts: ForumPosts,
    /// The names of channels and roles.
    names: KnownNames,
    recent: RecentMessages,
    /// Channels whose history was read for a mention, or refused, since the start.
    read_histories: KnownSet<ChannelId>,
    /// The chats of messages that had no answer at the start of the session.
    unanswered: BTreeMap<MessageId, ChatAddress>,
    /// Messages without a mention. An edit may add the forgotten one.
    unmentioned: KnownSet<MessageId>,
    /// The mention of each channel for which the history could not be read.
    unread_before: KnownMap<ChannelId, MessageId>,
    members: MemberRoles,
    reactions: UserReactions,
    reacting: ReactionQueue,
    /// Background requests to make next.
    background: Vec<BackgroundRequest>,
}

/// The next input of the receiver.
enum ReceiverInput {
    Event(SessionEvent),
    Finished(FinishedRequest),
    /// The answer to a message has ended.
    Ended(ReactionChange),
    /// A background request has ended. It may have changed reactions in a channel.
    Made(Option<ChannelId>),
    /// A request may be due.
    Due,
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
            channels.note_type(channel, DiscordChannel::Direct);
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
            spoken: KnownSet::default(),
            posts: ForumPosts::default(),
            names: KnownNames::default(),
            recent: RecentMessages::new(discord.settings.earlier_messages, MAX_KNOWN),
            read_histories: KnownSet::default(),
            unanswered: BTreeMap::new(),
            unmentioned: KnownSet::default(),
            unread_before: KnownMap::default(),
            members: MemberRoles::default(),
            reactions: UserReactions::default(),
            reacting: ReactionQueue::default(),
            background: Vec::new(),
        }
    }

    async fn receive(
        &mut self,
        events: &flume::Receiver<SessionEvent>,
    ) -> Result<Infallible, Stopped> {
        self.note_first_start().await?;
        let (mut bot, mut in_flight) = (None, FuturesUnordered::new());
        let mut background = FuturesUnordered::new();
        loop {
            while let (Some(bot), Some(event)) = (bot, self.released.pop_front()) {
                self.handle_event(bot, event).await?;
            }
            self.discord.health.note_unread(self.schedule.unread_channels());
            let due = bot.map(|bot| self.due_requests(bot)).unwrap_or_default();
            let requests = due.into_iter();
            in_flight.extend(requests.map(|request| self.discord.request(request, self.context)));
            let beside = self.background.drain(..);
            background.extend(beside.map(|request| self.discord.make_in_background(request)));
            match (self.next(events, &mut in_flight, &mut background).await?, bot) {
                (ReceiverInput::Event(SessionEvent::Started { bot: started, servers }), _) => {
                    bot = Some(started);
                    in_flight.clear();
                    self.discord.note_user_id(started.user);
                    self.start_catch_up(servers);
                    self.check_unanswered().await?;
                }
                (ReceiverInput::Event(SessionEvent::Dispatch(event)), Some(bot)) => {
                    self.handle_event(bot, event).await?;
                }
                (ReceiverInput::Finished(request), Some(bot)) => {
                    self.handle_result(bot, request).await?;
                }
                (ReceiverInput::Ended(change), _) => {
                    self.reacting.note_end(change.message);
                    self.react(change);
                }
                (ReceiverInput::Made(reacted), _) => {
                    let next = reacted.and_then(|channel| self.reacting.finish(channel));
                    self.background.extend(next.map(BackgroundRequest::React));
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
        background: &mut (impl Stream<Item = Option<ChannelId>> + Unpin),
    ) -> Result<ReceiverInput, Stopped> {
        let clock = &self.context.clock;
        let due = self.schedule.due().map(|due| due.saturating_sub(clock.elapsed()));
        tokio::select! {
            event = events.recv_async() => {
                event.map(ReceiverInput::Event).map_err(|_| Stopped::Requested)
            }
            Some(request) = in_flight.next() => Ok(ReceiverInput::Finished(request)),
            Some(ended) = self.discord.ended.next() => Ok(ReceiverInput::Ended(ended)),
            Some(made) = background.next() => Ok(ReceiverInput::Made(made)),
            () = clock.sleep(due.unwrap_or_default()), if due.is_some() => Ok(ReceiverInput::Due),
        }
    }

    async fn handle_event(&mut self, bot: BotIds, event: LiveEvent) -> Result<(), Stopped> {
        let command = self.command_in(bot, &event);
        match (self.hold_back(bot, event), command) {
            (Some(event), _) => self.dispatch(bot, &event.name, event.data).await,
            (None, Some(command)) => self.handle_early_command(bot, &command).await,
            (None, None) => Ok(()),
        }
    }

    async fn dispatch(&mut self, bot: BotIds, name: &str, data: Value) -> Result<(), Stopped> {
        if NAMING_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            self.names.learn_from(name, &data);
        }
        match name {
            MESSAGE_CREATE => self.handle_raw_message(bot, &data).await,
            MESSAGE_UPDATE => self.handle_update(bot, &data).await,
            MESSAGE_DELETE | MESSAGE_DELETE_BULK => self.handle_deletion(bot, &data).await,
            "MESSAGE_REACTION_ADD" => {
                self.note_reaction(bot, &data);
                Ok(())
            }
            INTERACTION_CREATE => match lenient::interaction(&data) {
                Some(interaction) => self.handle_interaction(bot, &interaction).await,
                None => self.answer_unreadable_interaction(&data).await,
            },
            "GUILD_CREATE" => {
                self.discord.uploads.learn_from(&data);
                self.note_threads(bot, &data);
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
                self.note_threads(bot, &data);
                Ok(())
            }
            name if IGNORED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) => Ok(()),
            name => {
                tracing::debug!(name, "ignoring an event of another kind");
                self.intake.ignore("of another kind", None).await
            }
        }
    }

    /// Notes existing threads, and those in which the bot has written.
    fn note_threads(&mut self, bot: BotIds, event: &Value) {
        self.posts.learn_from(event);
        for channel in described(event) {
            if channel.is_spoken(bot.user) {
                self.note_spoken(channel.id);
            }
            let is_thread = matches!(channel.channel_type(), DiscordChannel::Thread { .. });
            if is_thread && self.discord.settings.threads == Threads::Auto {
                self.discord.task_threads.note(channel.id);
            }
            if !channel.has_messages() {
                self.discord.forums.insert(channel.id);
            }
        }
    }

    /// Notes a thread in which the bot has written.
    fn note_spoken(&mut self, thread: ChannelId) {
        self.spoken.put(thread, ());
    }

    /// Returns the type of a channel. It is known: events of an unknown channel are held back until
    /// its type has been fetched.
    fn channel_type(&self, channel: ChannelId) -> DiscordChannel {
        self.channels.get(channel).unwrap_or(DiscordChannel::Server)
    }

    async fn handle_interaction(
        &mut self,
        bot: BotIds,
        interaction: &Interaction,
    ) -> Result<(), Stopped> {
        let Some(interaction) = UserInteraction::read(interaction) else {
            return self.intake.ignore("of another kind", None).await;
        };
        // Other people can read the place, so it counts as public.
        let channel_type = if interaction.is_among_others {
            DiscordChannel::Server
        } else {
            self.channel_type(interaction.channel)
        };
        let roles = self.discord.settings.named_roles(interaction.roles());
        let inbound = interaction.inbound(&self.identity(bot), channel_type, roles);
        let converted = Converted::inbound(inbound);
        let is_ephemeral = interaction.is_ephemeral(channel_type);
        let UserInteraction { id, token, kind, .. } = interaction;
        let is_press = matches!(kind, InteractionKind::Press { .. });
        if is_press && !is_ephemeral {
            self.intake.take(converted, None).await?;
            let acknowledgement = CreateInteractionResponse::Acknowledge;
            self.discord.respond(self.context.clock.as_ref(), id, token, &acknowledgement).await;
            return Ok(());
        }
        let (commands, clock) = (&self.discord.commands, self.context.clock.as_ref());
        let command = commands.insert(id, bot.application, token, is_ephemeral, clock);
        let commit = self.intake.take(converted, None);
        let taken = match &command {
            Some(command) if !is_press => self.discord.acknowledge_during(command, commit).await?,
            _ => commit.await?,
        };
        if matches!(taken, Taken::Accepted | Taken::Settled | Taken::Repeated) {
            let acknowledge = match kind {
                InteractionKind::Press { .. } => BackgroundRequest::AcknowledgePress,
                InteractionKind::Command { .. } => BackgroundRequest::Acknowledge,
            };
            self.background.extend(command.map(acknowledge));
        } else {
            commands.remove(id);
            if let Some(command) = command
                && self.discord.replace_acknowledgement(&command, NO_ACCESS).await
            {
                return Ok(());
            }
            self.reply_to_caller(id, token, NO_ACCESS).await;
        }
        Ok(())
    }

    fn identity(&self, bot: BotIds) -> BotIdentity<'_> {
        let Discord { name, account, settings, .. } = self.discord;
        BotIdentity {
            user: bot.user,
            channel: name,
            account,
            answer_all: settings.answer_all,
            unmentioned: &settings.unmentioned,
            spoken: (!settings.thread_mention).then_some(&self.spoken),
            threads: settings.threads,
            commands: self.context.commands.as_ref(),
            names: &self.names,
        }
    }
}
