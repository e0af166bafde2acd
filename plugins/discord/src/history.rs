//! What is asked of the platform: above all the history of channels, since Discord keeps nothing else
//! for a bot that is not connected (F32).

use avocet_protocol::{ChannelContext, CommandHelp};
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ApplicationId, ChannelId, MessageId};

use crate::Discord;
use crate::agenda::Subject;
use crate::fault::Fault;
use crate::places::{Described, Place};
use crate::routes::Route;

/// Messages in a page: the most that is given (Discord API, "Get Channel Messages").
pub(crate) const PAGE: usize = 100;

/// What is asked of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Which channel is somebody's?
    Direct(u64),
    /// What is the channel?
    Place(ChannelId),
    /// What does it say up to this message?
    Edits(ChannelId, MessageId),
    /// What was said after this message?
    Missed(ChannelId, MessageId),
    /// Are the commands taken?
    Offer(ApplicationId),
}

/// What the platform answers.
#[derive(Debug)]
pub(crate) enum Answer {
    Direct(ChannelId),
    /// The channel, and the last that was said there.
    Place(Place, Option<MessageId>),
    /// Messages, the oldest first.
    Page(Vec<Value>),
    Offered,
}

/// A question, and what came of it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    pub(crate) answer: Result<Answer, Fault>,
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

/// The id of a message; the largest if it has none, so that it comes last.
pub(crate) fn id(message: &Value) -> MessageId {
    MessageId::deserialize(&message["id"]).unwrap_or(MessageId::new(u64::MAX - 1))
}

impl Discord {
    /// Asks, and says what came of it.
    pub(crate) async fn asked(&self, question: Question, context: &ChannelContext) -> Asked {
        Asked { question, answer: self.ask(question, &context.commands).await }
    }

    async fn ask(&self, question: Question, commands: &[CommandHelp]) -> Result<Answer, Fault> {
        match question {
            Question::Direct(user) => self.open_direct(user).await.map(Answer::Direct),
            Question::Place(channel_id) => {
                let found: Described = self.rest.get(Route::Channel { channel_id }).await?;
                Ok(Answer::Place(found.place(), found.last_message_id))
            }
            Question::Edits(channel, last) => {
                let before = MessageId::new(last.get().saturating_add(1));
                self.page(channel, "before", before).await.map(Answer::Page)
            }
            Question::Missed(channel, after) => {
                self.history(channel, after).await.map(Answer::Page)
            }
            Question::Offer(application) => {
                self.offer(application, commands).await.map(|()| Answer::Offered)
            }
        }
    }

    /// The messages of a channel that come next after one, the oldest first; a page of them.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn history(
        &self,
        channel: ChannelId,
        after: MessageId,
    ) -> Result<Vec<Value>, Fault> {
        self.page(channel, "after", after).await
    }

    async fn page(
        &self,
        channel_id: ChannelId,
        side: &'static str,
        message: MessageId,
    ) -> Result<Vec<Value>, Fault> {
        let parameters = [(side, message.to_string()), ("limit", PAGE.to_string())];
        let route = Route::ChannelMessages { channel_id };
        let mut page: Vec<Value> = self.rest.get_with(route, &parameters).await?;
        page.sort_by_key(id);
        Ok(page)
    }
}
