//! The recent messages of a server's channel that were not for the agent. A mention gives them to
//! the model. Memory holds them; after a start, the first mention in a channel reads its history.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use avocet_protocol::{Quote, within};
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, MessageId};

use crate::bounded::MakeRoom;
use crate::fault::RestError;
use crate::gateway::BotIds;
use crate::history::HistoryPage;
use crate::lenient;

use super::Receiver;

/// Time for a request of the history. Events wait meanwhile.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest text of a message that is kept, in characters.
const MAX_TEXT: usize = 600;
/// Messages whose context is kept for their edits.
const MAX_GIVEN: usize = 100;

/// The recent messages of each channel.
#[derive(Debug, Default)]
pub(super) struct RecentMessages {
    /// Messages to keep per channel.
    limit: usize,
    channels: HashMap<ChannelId, VecDeque<(MessageId, Quote)>>,
    /// Channels whose history was read, or refused, since the start.
    read: HashSet<ChannelId>,
    /// The context that came with the last messages, for their edits.
    given: VecDeque<(MessageId, Vec<Quote>)>,
}

impl RecentMessages {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Notes a message that is not for the agent.
    fn note(&mut self, channel: ChannelId, id: MessageId, quote: Quote) {
        self.channels.make_room(&channel);
        let messages = self.channels.entry(channel).or_default();
        if self.limit == 0 || messages.iter().any(|(known, _)| *known == id) {
            return;
        }
        let text = quote.text.chars().take(MAX_TEXT).collect();
        messages.push_back((id, Quote { text, ..quote }));
        if messages.len() > self.limit {
            messages.pop_front();
        }
    }

    /// Returns the messages before a mention, the oldest first.
    fn before(&self, channel: ChannelId, mention: MessageId) -> Vec<Quote> {
        let messages = self.channels.get(&channel).into_iter().flatten();
        let mut before: Vec<_> = messages.filter(|(id, _)| *id < mention).collect();
        before.sort_by_key(|(id, _)| *id);
        before.into_iter().map(|(_, quote)| quote.clone()).collect()
    }

    pub(super) fn forget_before(&mut self, channel: ChannelId, mention: MessageId) {
        if let Some(messages) = self.channels.get_mut(&channel) {
            messages.retain(|(id, _)| *id > mention);
        }
    }

    /// Notes the context that came with a message.
    pub(super) fn note_given(&mut self, message: MessageId, context: Vec<Quote>) {
        if context.is_empty() {
            return;
        }
        self.given.push_back((message, context));
        if self.given.len() > MAX_GIVEN {
            self.given.pop_front();
        }
    }

    /// Returns the context that came with a message, as long as it is known.
    pub(super) fn given(&self, message: MessageId) -> Vec<Quote> {
        let given = self.given.iter().rev().find(|(id, _)| *id == message);
        given.map(|(_, context)| context.clone()).unwrap_or_default()
    }
}

impl Receiver<'_> {
    /// Keeps a message that is not for the agent.
    pub(super) fn note_recent(&mut self, bot: BotIds, message: &Message) {
        let quote = self.identity(bot).as_quote(message);
        if !quote.text.is_empty() {
            self.recent.note(message.channel_id, message.id, quote);
        }
    }

    /// Returns the messages before a mention that the agent has not seen.
    pub(super) async fn messages_before(&mut self, bot: BotIds, mention: &Message) -> Vec<Quote> {
        if self.recent.limit == 0 {
            return Vec::new();
        }
        let channel = mention.channel_id;
        if !self.recent.read.contains(&channel) && self.read_recent(bot, mention).await {
            self.recent.read.make_room(&channel);
            self.recent.read.insert(channel);
        }
        self.recent.before(channel, mention.id)
    }

    /// Reads the messages before the first mention in a channel, back to the last one for the
    /// agent. Returns `false` if the next mention has to try again.
    async fn read_recent(&mut self, bot: BotIds, mention: &Message) -> bool {
        let limit = self.recent.limit;
        let page = HistoryPage::UpTo(MessageId::new((mention.id.get() - 1).max(1)));
        let reading = self.discord.page_of_messages(mention.channel_id, page, limit);
        let page = match within(self.context.clock.as_ref(), HISTORY_TIMEOUT, reading).await {
            Ok(Ok(page)) => page,
            Ok(Err(fault)) => {
                tracing::debug!(error = %fault, "cannot read the messages before a mention");
                return matches!(fault, RestError::Refused(_));
            }
            Err(elapsed) => {
                tracing::debug!(error = %elapsed, "cannot read the messages before a mention");
                return false;
            }
        };
        let channel_type = self.channel_type(mention.channel_id);
        let messages: Vec<Message> = page.iter().filter_map(lenient::message).collect();
        let identity = self.identity(bot);
        let is_for_us = |message: &Message| {
            message.author.id == bot.user || identity.why_not(message, channel_type).is_none()
        };
        let first = messages.iter().rposition(is_for_us).map_or(0, |last| last + 1);
        for message in &messages[first..] {
            self.note_recent(bot, message);
        }
        true
    }
}

#[cfg(test)]
#[path = "recent_tests.rs"]
mod tests;
