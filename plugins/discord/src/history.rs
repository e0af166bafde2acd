//! Requests to the platform, above all for the history of channels: Discord keeps only that for a
//! bot that is away (F32).

use avocet_protocol::{ChannelContext, CommandHelp};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ApplicationId, ChannelId, MessageId};

use crate::Discord;
use crate::agenda::Subject;
use crate::fault::RestError;
use crate::places::{ChannelPlace, Described};
use crate::routes::Route;

/// Messages in a page: the platform's maximum (Discord API, "Get Channel Messages").
pub(crate) const PAGE: usize = 100;

/// A request to the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The direct message channel of a user.
    Direct(u64),
    /// The type of a channel.
    Place(ChannelId),
    /// The messages of a channel up to this one.
    Edits(ChannelId, MessageId),
    /// The messages of a channel after this one.
    Missed(ChannelId, MessageId),
    /// The registration of the commands.
    Offer(ApplicationId),
}

/// An answer of the platform.
#[derive(Debug)]
pub(crate) enum HistoryAnswer {
    Direct(ChannelId),
    /// The type of the channel, and its last message.
    Place(ChannelPlace, Option<MessageId>),
    /// Messages, the oldest first.
    Page(Vec<Value>),
    Offered,
}

/// A request with its answer.
#[derive(Debug)]
pub(crate) struct AnsweredQuestion {
    pub(crate) question: Question,
    pub(crate) answer: Result<HistoryAnswer, RestError>,
}

impl Question {
    pub(crate) fn subject(self) -> Subject {
        match self {
            Self::Direct(user) => Subject::Person(user),
            Self::Place(channel) | Self::Edits(channel, _) | Self::Missed(channel, _) => {
                Subject::Channel(channel)
            }
            Self::Offer(_) => Subject::Commands,
        }
    }
}

/// Returns the id of a message; without an id the largest possible one, so that the message comes
/// last.
pub(crate) fn id(message: &Value) -> MessageId {
    MessageId::deserialize(&message["id"]).unwrap_or(MessageId::new(u64::MAX - 1))
}

impl Discord {
    /// Makes a request, and returns it with the answer.
    pub(crate) async fn asked(
        &self,
        question: Question,
        context: &ChannelContext,
    ) -> AnsweredQuestion {
        AnsweredQuestion { question, answer: self.ask(question, &context.commands).await }
    }

    async fn ask(
        &self,
        question: Question,
        commands: &[CommandHelp],
    ) -> Result<HistoryAnswer, RestError> {
        match question {
            Question::Direct(user) => self.open_direct(user).await.map(HistoryAnswer::Direct),
            Question::Place(channel_id) => {
                let found: Described = self.rest.get(Route::Channel { channel_id }).await?;
                Ok(HistoryAnswer::Place(found.place(), found.last_message_id))
            }
            Question::Edits(channel, last) => {
                let before = MessageId::new(last.get().saturating_add(1));
                self.page(channel, "before", before).await.map(HistoryAnswer::Page)
            }
            Question::Missed(channel, after) => {
                self.history(channel, after).await.map(HistoryAnswer::Page)
            }
            Question::Offer(application) => {
                self.offer(application, commands).await.map(|()| HistoryAnswer::Offered)
            }
        }
    }

    /// Returns a page of the messages that follow the given one, the oldest first.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn history(
        &self,
        channel: ChannelId,
        after: MessageId,
    ) -> Result<Vec<Value>, RestError> {
        self.page(channel, "after", after).await
    }

    async fn page(
        &self,
        channel_id: ChannelId,
        side: &'static str,
        message: MessageId,
    ) -> Result<Vec<Value>, RestError> {
        let parameters = [(side, message.to_string()), ("limit", PAGE.to_string())];
        let route = Route::ChannelMessages { channel_id };
        let mut page: Vec<Value> = self.rest.get_with(route, &parameters).await?;
        page.sort_by_key(id);
        Ok(page)
    }
}
