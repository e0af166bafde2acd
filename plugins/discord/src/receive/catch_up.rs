//! Reads the messages that were missed while the bot was away (F32), while live events keep coming.
//!
//! With a new session, a server reports the last message of its channels and active threads. Only
//! channels with a new message are read. Other channels that were read before are fetched one by
//! one, because listings lack them: direct messages and archived threads. Writing in a thread
//! unarchives it, but a silent one is archived again (Discord API, "Active & Archived Threads"),
//! perhaps while the bot was away. A thread that was both made and archived meanwhile is missed:
//! listings and cursors lack it.
//!
//! In channels with missed messages, and in direct messages, the page before them is searched for
//! edits. Older edits are missed, and so are edits in a server's channel without a new message: no
//! listing contains them.

use std::collections::BTreeSet;
use std::time::Duration;

use avocet_channel_kit::Stopped;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, GuildId, MessageId};

use crate::channels::{ChannelInfo, DiscordChannel};
use crate::fault::RestError;
use crate::gateway::{
    BotIds, INTERACTION_CREATE, LiveEvent, MESSAGE_CREATE, MESSAGE_DELETE, MESSAGE_UPDATE,
};
use crate::history::{HistoryPage, MAX_PAGE, message_id, readable_id};
use crate::lenient;

use super::Receiver;
use super::deletions::find_deleted;
use super::gaps::{CatchUpStep, Gap};
use super::requests::{FinishedRequest, PlatformRequest, PlatformResponse};
use super::schedule::{Subject, When};

/// Shortest wait before a request that was refused because of the token.
const TOKEN_WAIT: Duration = Duration::from_mins(1);
/// Discord's error code for a deleted channel.
const UNKNOWN_CHANNEL: isize = 10_003;

impl Receiver<'_> {
    /// Schedules the requests of a new session: messages may be missing in every channel.
    pub(super) fn start_catch_up(&mut self, servers: BTreeSet<GuildId>) {
        let now = self.context.clock.elapsed();
        self.schedule.restart(now);
        self.members.clear();
        for (channel, last) in self.positions.channels() {
            if self.deleted.contains(&channel) {
                continue;
            }
            let (next, when) = match self.channels.get(channel) {
                Some(DiscordChannel::Direct) => (CatchUpStep::Edits, When::At(now)),
                _ => (CatchUpStep::Channel, When::Listed),
            };
            self.gaps.note(channel, last, next);
            self.schedule.add(Subject::Channel(channel), when);
        }
        self.find_direct_channels(now);
        if !self.commands_registered {
            self.schedule.add(Subject::Commands, When::Last);
        }
        self.undescribed = servers;
        self.end_listing_if_complete(now);
    }

    /// Processes the description of a server, its channels and its threads.
    pub(super) fn handle_server(&mut self, server: &Value) {
        self.channels.learn_from(server);
        self.find_new_channels(server);
        let id = GuildId::deserialize(&server["id"]);
        // During an outage of a server, its description has no channels. A full one follows later.
        if let (Ok(id), true) = (id, server["channels"].is_array()) {
            self.undescribed.remove(&id);
            self.end_listing_if_complete(self.context.clock.elapsed());
        }
    }

    fn end_listing_if_complete(&mut self, now: Duration) {
        if self.undescribed.is_empty() {
            self.schedule.all_listed(now);
        }
    }

    /// Processes the last message of a channel, as its server reports it.
    pub(super) fn handle_listed_channel(
        &mut self,
        channel: &ChannelInfo,
        joined: Option<MessageId>,
        earliest: MessageId,
    ) {
        let subject = Subject::Channel(channel.id);
        if !matches!(self.schedule.when(subject), None | Some(When::Listed)) {
            return;
        }
        let last = self.positions.last(channel.id);
        let after = last.map_or(earliest, |last| joined.map_or(last, |joined| joined.max(last)));
        let dropped = self.gaps.get_mut(channel.id).and_then(Gap::take_dropped);
        let has_news = channel.last_message_id.is_some_and(|id| id > after) || dropped.is_some();
        if has_news && channel.has_messages() {
            self.gaps.note(
                channel.id,
                after,
                last.map_or(CatchUpStep::Missed, |_| CatchUpStep::Edits),
            );
            self.schedule.add(subject, When::At(self.context.clock.elapsed()));
        } else {
            self.finish_catch_up(channel.id);
        }
    }

    /// Holds back an event of a channel that has to catch up, or has an unknown type. The first
    /// mention in a channel waits for the messages before it. Returns an event that can be processed
    /// now. Interactions are not part of a history, so only an unknown type holds them back.
    pub(super) fn hold_back(&mut self, bot: BotIds, event: LiveEvent) -> Option<LiveEvent> {
        let LiveEvent { name, data } = &event;
        let Ok(channel) = ChannelId::deserialize(&data["channel_id"]) else { return Some(event) };
        if ![MESSAGE_CREATE, MESSAGE_UPDATE, MESSAGE_DELETE, INTERACTION_CREATE]
            .contains(&name.as_str())
        {
            return Some(event);
        }
        if name == MESSAGE_DELETE {
            // The message may be among the events that wait.
            let Some(gap) = self.gaps.get_mut(channel) else { return Some(event) };
            gap.hold(event);
            return None;
        }
        self.learn_channel_type(channel, data);
        if name == MESSAGE_CREATE {
            self.note_direct_writer(channel, data);
        }
        let is_known = self.channels.get(channel).is_some();
        if is_known && name == INTERACTION_CREATE {
            return Some(event);
        }
        if self.gaps.get(channel).is_none() {
            let next = match self.mention_without_history(bot, &event) {
                Some(mention) => CatchUpStep::Before { mention, then_missed: false },
                None if is_known => return Some(event),
                None => CatchUpStep::Channel,
            };
            let after = self.positions.last(channel).unwrap_or(message_id(&event.data));
            self.gaps.note(channel, after, next);
            let now = self.context.clock.elapsed();
            self.schedule.add(Subject::Channel(channel), When::At(now));
        }
        self.gaps.get_mut(channel)?.hold(event);
        self.schedule.mark_urgent(Subject::Channel(channel));
        None
    }

    /// Notes the type of a channel if one of its events shows it.
    fn learn_channel_type(&mut self, channel: ChannelId, event: &Value) {
        if self.channels.get(channel).is_none() {
            self.channels.learn_from(&event["channel"]);
        }
        if self.channels.get(channel).is_none() && event["guild_id"].is_null() {
            self.channels.note_type(channel, DiscordChannel::Direct);
        }
    }

    /// Returns the requests to make now, which are in progress from now on.
    pub(super) fn due_requests(&mut self, bot: BotIds) -> Vec<PlatformRequest> {
        let mut requests = Vec::new();
        while let Some(subject) = self.schedule.next(self.context.clock.elapsed()) {
            let request = match subject {
                Subject::Person(user) => Some(PlatformRequest::OpenDirect(user)),
                Subject::Commands => Some(PlatformRequest::RegisterCommands(bot.application)),
                Subject::Channel(channel) => self.next_request(channel),
                Subject::Message(channel, message) => {
                    Some(PlatformRequest::Message(channel, message))
                }
            };
            match request {
                Some(request) => requests.push(request),
                None => self.schedule.remove(subject),
            }
        }
        requests
    }

    fn next_request(&self, channel: ChannelId) -> Option<PlatformRequest> {
        let gap = self.gaps.get(channel)?;
        Some(match gap.next {
            CatchUpStep::Channel => PlatformRequest::Channel(channel),
            CatchUpStep::Edits => PlatformRequest::Page(channel, HistoryPage::UpTo(gap.after)),
            CatchUpStep::Missed => PlatformRequest::Page(channel, HistoryPage::After(gap.after)),
            CatchUpStep::Before { mention, .. } => PlatformRequest::Before(channel, mention),
        })
    }

    /// Processes the result of a request.
    pub(super) async fn handle_result(
        &mut self,
        bot: BotIds,
        finished: FinishedRequest,
    ) -> Result<(), Stopped> {
        let FinishedRequest { request, result } = finished;
        if let PlatformRequest::Before(channel, mention) = request {
            self.finish_history(bot, channel, mention, result);
            return Ok(());
        }
        let response = match result {
            Ok(response) => response,
            Err(fault) => {
                if let Some(deleted) = find_deleted(request, &fault) {
                    self.withdraw_unanswered(deleted).await?;
                }
                self.handle_failure(request, &fault);
                return Ok(());
            }
        };
        match (request, response) {
            (PlatformRequest::OpenDirect(user), PlatformResponse::Direct(channel)) => {
                self.handle_direct_channel(user, channel).await?;
            }
            (PlatformRequest::Channel(channel), PlatformResponse::Channel(info)) => {
                if info.is_spoken(bot.user) {
                    self.note_spoken(channel);
                }
                self.handle_channel(channel, &info);
            }
            (PlatformRequest::Page(channel, page), PlatformResponse::Page(messages)) => {
                match page {
                    HistoryPage::UpTo(_) => self.apply_edits(bot, channel, &messages).await?,
                    HistoryPage::After(after) => {
                        self.read_missed(bot, channel, after, &messages).await?;
                    }
                }
            }
            (request, _) => {
                self.commands_registered |= matches!(request, PlatformRequest::RegisterCommands(_));
                self.schedule.remove(request.subject());
            }
        }
        Ok(())
    }

    fn handle_channel(&mut self, channel: ChannelId, info: &ChannelInfo) {
        let channel_type = info.channel_type();
        self.channels.note_type(channel, channel_type);
        let Some(gap) = self.gaps.get_mut(channel) else { return };
        let is_newer = info.last_message_id.is_some_and(|last| last > gap.after);
        let has_news = is_newer || gap.take_dropped().is_some();
        if !has_news && channel_type != DiscordChannel::Direct {
            return self.finish_catch_up(channel);
        }
        gap.next = CatchUpStep::Edits;
        self.continue_catch_up(channel);
    }

    pub(super) fn continue_catch_up(&mut self, channel: ChannelId) {
        self.schedule.add_next(Subject::Channel(channel), self.context.clock.elapsed());
    }

    /// Corrects messages that were edited since the last committed one. The log ignores edits that
    /// it has already.
    async fn apply_edits(
        &mut self,
        bot: BotIds,
        channel: ChannelId,
        page: &[Value],
    ) -> Result<(), Stopped> {
        self.members.clear();
        let Some(gap) = self.gaps.get_mut(channel) else { return Ok(()) };
        let last = gap.after;
        for message in page.iter().filter_map(lenient::message) {
            let edited = message.edited_timestamp;
            if edited.is_some_and(|at| at > last.created_at()) && message.id <= last {
                if let Err(fault) = self.learn_roles(bot, &message).await {
                    let page = PlatformRequest::Page(channel, HistoryPage::UpTo(last));
                    self.handle_failure(page, &fault);
                    return Ok(());
                }
                self.handle_edit(bot, &message).await?;
            }
        }
        if let Some(gap) = self.gaps.get_mut(channel) {
            gap.next = CatchUpStep::Missed;
        }
        self.continue_catch_up(channel);
        Ok(())
    }

    /// Processes a page of missed messages, and the live events that came before one of them.
    async fn read_missed(
        &mut self,
        bot: BotIds,
        channel: ChannelId,
        after: MessageId,
        page: &[Value],
    ) -> Result<(), Stopped> {
        self.members.clear();
        for message in page {
            if let Some(read) = lenient::message(message)
                && let Err(fault) = self.learn_roles(bot, &read).await
            {
                // The page is read again from the last committed message.
                let page = PlatformRequest::Page(channel, HistoryPage::After(after));
                self.handle_failure(page, &fault);
                return Ok(());
            }
            if self.needs_history_before(bot, message) {
                return Ok(());
            }
            let gap = self.gaps.get_mut(channel);
            let before = gap.map(|gap| gap.take_until(message_id(message))).unwrap_or_default();
            for LiveEvent { name, data } in before {
                self.dispatch(bot, &name, data).await?;
            }
            self.handle_raw_message(bot, message).await?;
            if let (Some(gap), Some(id)) = (self.gaps.get_mut(channel), readable_id(message)) {
                gap.after = gap.after.max(id);
            }
        }
        let Some(gap) = self.gaps.get_mut(channel) else { return Ok(()) };
        gap.after = page.iter().rev().find_map(readable_id).unwrap_or(after);
        // Messages that were dropped meanwhile came after this request.
        let has_more = page.len() >= MAX_PAGE && gap.after > after;
        if has_more || gap.take_dropped().is_some() {
            self.continue_catch_up(channel);
        } else {
            self.finish_catch_up(channel);
        }
        Ok(())
    }

    /// Ends the catch-up of a channel. The live events that waited come next.
    pub(super) fn finish_catch_up(&mut self, channel: ChannelId) {
        self.schedule.remove(Subject::Channel(channel));
        self.released.extend(self.gaps.close(channel));
    }

    fn handle_failure(&mut self, request: PlatformRequest, fault: &RestError) {
        let (subject, now) = (request.subject(), self.context.clock.elapsed());
        match fault {
            RestError::Wait(wait) => self.schedule.delay(subject, now + *wait),
            // The gateway finds this, too, and reports it to the operator.
            fault if fault.is_about_token() => {
                let next_try = self.discord.health.refusals.until_next_try();
                self.schedule.delay(subject, now + next_try.unwrap_or_default().max(TOKEN_WAIT));
            }
            RestError::Refused(_) => {
                tracing::info!(error = %fault, ?subject, "Discord refused a request");
                self.handle_refusal(request, fault);
            }
            fault => {
                let wait = self.schedule.note_failure(subject, fault.to_string(), now);
                tracing::warn!(error = %fault, ?subject, ?wait, "a request to Discord failed; retrying");
            }
        }
    }

    /// Handles a refused request: the bot may have lost access. If a channel of unknown type has
    /// live events nevertheless, it is a server's channel, and its messages count as public.
    fn handle_refusal(&mut self, request: PlatformRequest, fault: &RestError) {
        if let PlatformRequest::Channel(channel) = request
            && self.channels.get(channel).is_none()
            && self.gaps.get(channel).is_some_and(Gap::has_held_events)
        {
            self.channels.note_type(channel, DiscordChannel::Server);
        }
        match request.subject() {
            Subject::Channel(channel) => {
                if fault.is_refused_with(UNKNOWN_CHANNEL) {
                    self.deleted.insert(channel);
                }
                if let Some(dropped) = self.gaps.get_mut(channel).and_then(Gap::take_dropped) {
                    tracing::warn!(%channel, missing = %dropped, "messages of a channel are lost: \
                        too many came while its history could not be read, and now Discord refuses \
                        access");
                }
                self.finish_catch_up(channel);
            }
            Subject::Commands => {
                let account = &self.discord.account;
                tracing::warn!(%account, "cannot register the slash commands; typed commands work");
                self.commands_registered = true;
                self.schedule.remove(Subject::Commands);
            }
            other @ (Subject::Person(_) | Subject::Message(..)) => self.schedule.remove(other),
        }
    }
}
