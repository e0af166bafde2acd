//! The recent messages of a server's channel that were not for the agent. A mention gives them to
//! the model. Memory holds them; after a start, the first mention in a channel reads its history.

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
/// The recent messages of each channel.
pub(super) type RecentMessages = avocet_channel_kit::RecentMessages<ChannelId, MessageId>;

impl Receiver<'_> {
    /// Keeps a message that is not for the agent.
    pub(super) fn note_recent(&mut self, bot: BotIds, message: &Message) {
        let quote = self.identity(bot).as_quote(message);
        if !quote.text.is_empty() {
            self.recent.note_message(message.channel_id, message.id, quote);
        }
    }

    /// Returns the messages before a mention that the agent has not seen.
    pub(super) async fn messages_before(&mut self, bot: BotIds, mention: &Message) -> Vec<Quote> {
        if self.recent.max_messages() == 0 {
            return Vec::new();
        }
        let channel = mention.channel_id;
        if !self.read_histories.contains(&channel) && self.read_recent(bot, mention).await {
            self.read_histories.make_room(&channel);
            self.read_histories.insert(channel);
        }
        // The history may have come after a live message, so the ids give the order.
        let messages = self.recent.messages_of(&channel);
        let mut before: Vec<_> = messages.filter(|(id, _)| *id < mention.id).collect();
        before.sort_by_key(|(id, _)| *id);
        before.into_iter().map(|(_, quote)| quote.clone()).collect()
    }

    /// Reads the messages before the first mention in a channel, back to the last one for the
    /// agent. Returns `false` if the next mention has to try again.
    async fn read_recent(&mut self, bot: BotIds, mention: &Message) -> bool {
        let limit = self.recent.max_messages();
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
