//! The recent messages of a server's channel that were not for the agent. A mention gives them to
//! the model. Memory holds them; after a start, the first mention in a channel waits until its
//! history is read, and so do the later events of this channel. Other channels go on.

use std::time::Duration;

use avocet_protocol::chat::Quote;
use avocet_protocol::clock::within;
use serde_json::Value;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, MessageId};

use crate::Discord;
use crate::channels::DiscordChannel;
use crate::fault::RestError;
use crate::gateway::{BotIds, LiveEvent, MESSAGE_CREATE};
use crate::history::HistoryPage;
use crate::lenient;

use super::Receiver;
use super::gaps::CatchUpStep;
use super::requests::PlatformResponse;

/// Time for a request of the history. The events of its channel wait meanwhile.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(3);
/// The recent messages of each channel.
pub(super) type RecentMessages = avocet_channel_kit::RecentMessages<ChannelId, MessageId>;

impl Discord {
    /// Returns the messages before a mention, the oldest first.
    ///
    /// # Errors
    /// [`RestError`] if the request fails, or gets no answer in time.
    pub(super) async fn messages_before(
        &self,
        channel: ChannelId,
        mention: MessageId,
    ) -> Result<Vec<Value>, RestError> {
        let page = HistoryPage::UpTo(MessageId::new((mention.get() - 1).max(1)));
        let reading = self.page_of_messages(channel, page, self.settings.earlier_messages);
        let read = within(self.clock.as_ref(), HISTORY_TIMEOUT, reading).await;
        read.unwrap_or(Err(RestError::Broken("no answer in time")))
    }
}

impl Receiver<'_> {
    /// Keeps a message that is not for the agent.
    pub(super) fn note_recent(&mut self, bot: BotIds, message: &Message) {
        let quote = self.identity(bot).as_quote(message);
        if !quote.text.is_empty() {
            self.recent.note_message(message.channel_id, message.id, quote);
        }
    }

    /// Returns the messages before a mention that the agent has not seen.
    pub(super) fn messages_before(&self, mention: &Message) -> Vec<Quote> {
        // The history may have come after a live message, so the ids give the order.
        let messages = self.recent.messages_of(&mention.channel_id);
        let mut before: Vec<_> = messages.filter(|(id, _)| *id < mention.id).collect();
        before.sort_by_key(|(id, _)| *id);
        before.into_iter().map(|(_, quote)| quote.clone()).collect()
    }

    /// Returns the id of a live message that has to wait for the history before it.
    pub(super) fn mention_without_history(
        &self,
        bot: BotIds,
        event: &LiveEvent,
    ) -> Option<MessageId> {
        let message = Some(&event.data).filter(|_| event.name == MESSAGE_CREATE)?;
        self.first_mention(bot, message).map(|mention| mention.id)
    }

    /// Returns `true` if a missed message needs the history before it, which is then requested. The
    /// missed messages are read again after that, from this one on.
    pub(super) fn needs_history_before(&mut self, bot: BotIds, message: &Value) -> bool {
        let Some(mention) = self.first_mention(bot, message) else { return false };
        let Some(gap) = self.gaps.get_mut(mention.channel_id) else { return false };
        gap.next = CatchUpStep::Before { mention: mention.id, then_missed: true };
        self.continue_catch_up(mention.channel_id);
        true
    }

    /// Returns a message if it is the first one for the agent in a server's channel since the start.
    fn first_mention(&self, bot: BotIds, message: &Value) -> Option<Message> {
        if self.recent.max_messages() == 0 {
            return None;
        }
        let message = lenient::message(message)?;
        let channel = message.channel_id;
        let channel_type = self.channels.get(channel)?;
        let is_tried = self.unread_before.peek(&channel) == Some(&message.id);
        let is_first = channel_type != DiscordChannel::Direct
            && !is_tried
            && !self.read_histories.contains(&channel)
            && !self.identity(bot).is_command(&message.content)
            && self.skip_reason(bot, &message, channel_type).is_none();
        is_first.then_some(message)
    }

    /// Keeps the messages before a mention, which goes on now. After a passing fault, the next
    /// mention tries again.
    pub(super) fn finish_history(
        &mut self,
        bot: BotIds,
        channel: ChannelId,
        mention: MessageId,
        result: Result<PlatformResponse, RestError>,
    ) {
        match result {
            Ok(PlatformResponse::Page(page)) => self.note_history(bot, channel, &page),
            Ok(_) => {}
            Err(fault) => {
                tracing::debug!(%channel, error = %fault, "cannot read the messages before a mention");
                if !matches!(fault, RestError::Refused(_)) {
                    self.unread_before.put(channel, mention);
                    return self.resume_channel(channel);
                }
            }
        }
        self.unread_before.pop(&channel);
        self.read_histories.put(channel, ());
        self.resume_channel(channel);
    }

    /// Keeps the messages of a history after the last one for the agent.
    fn note_history(&mut self, bot: BotIds, channel: ChannelId, page: &[Value]) {
        let channel_type = self.channel_type(channel);
        let messages: Vec<Message> = page.iter().filter_map(lenient::message).collect();
        let identity = self.identity(bot);
        let is_for_us = |message: &Message| {
            message.author.id == bot.user || identity.why_not(message, channel_type).is_none()
        };
        let first = messages.iter().rposition(is_for_us).map_or(0, |last| last + 1);
        for message in &messages[first..] {
            self.note_recent(bot, message);
        }
    }

    /// Goes on with the events that waited for a history.
    fn resume_channel(&mut self, channel: ChannelId) {
        let Some(gap) = self.gaps.get_mut(channel) else { return };
        let then_missed = matches!(gap.next, CatchUpStep::Before { then_missed: true, .. });
        if then_missed || gap.take_dropped().is_some() {
            gap.next = CatchUpStep::Missed;
            self.continue_catch_up(channel);
        } else {
            self.finish_catch_up(channel);
        }
    }
}
