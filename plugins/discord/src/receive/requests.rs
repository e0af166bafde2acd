//! The requests that a receiver makes, and their results.

use avocet_protocol::channel::{ChannelContext, CommandHelp};
use serde_json::Value;
use serenity::model::id::{ApplicationId, ChannelId, MessageId};

use crate::Discord;
use crate::channels::ChannelInfo;
use crate::fault::RestError;
use crate::history::HistoryPage;
use crate::routes::Route;

use super::schedule::Subject;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlatformRequest {
    /// Open the direct message channel of a user.
    OpenDirect(u64),
    /// Fetch a channel: its type and its last message.
    Channel(ChannelId),
    /// Fetch messages of a channel.
    Page(ChannelId, HistoryPage),
    /// Fetch the messages before a mention.
    Before(ChannelId, MessageId),
    /// Fetch a message that may have been deleted.
    Message(ChannelId, MessageId),
    RegisterCommands(ApplicationId),
}

/// The result of a successful request.
#[derive(Debug)]
pub(super) enum PlatformResponse {
    Direct(ChannelId),
    Channel(ChannelInfo),
    /// Messages, the oldest first.
    Page(Vec<Value>),
    /// The message exists.
    Exists,
    Registered,
}

/// A request with its result.
#[derive(Debug)]
pub(super) struct FinishedRequest {
    pub(super) request: PlatformRequest,
    pub(super) result: Result<PlatformResponse, RestError>,
}

impl PlatformRequest {
    pub(super) fn subject(self) -> Subject {
        match self {
            Self::OpenDirect(user) => Subject::Person(user),
            Self::Channel(channel) | Self::Page(channel, _) | Self::Before(channel, _) => {
                Subject::Channel(channel)
            }
            Self::Message(channel, message) => Subject::Message(channel, message),
            Self::RegisterCommands(_) => Subject::Commands,
        }
    }
}

impl Discord {
    /// Makes a request, and returns it with the result.
    pub(super) async fn request(
        &self,
        request: PlatformRequest,
        context: &ChannelContext,
    ) -> FinishedRequest {
        FinishedRequest { request, result: self.response(request, &context.commands).await }
    }

    async fn response(
        &self,
        request: PlatformRequest,
        commands: &[CommandHelp],
    ) -> Result<PlatformResponse, RestError> {
        match request {
            PlatformRequest::OpenDirect(user) => {
                self.open_direct(user).await.map(PlatformResponse::Direct)
            }
            PlatformRequest::Channel(channel_id) => {
                let fetched = self.rest.get(Route::Channel { channel_id }).await;
                fetched.map(PlatformResponse::Channel)
            }
            PlatformRequest::Page(channel, page) => {
                self.messages(channel, page).await.map(PlatformResponse::Page)
            }
            PlatformRequest::Before(channel, mention) => {
                self.messages_before(channel, mention).await.map(PlatformResponse::Page)
            }
            PlatformRequest::Message(channel_id, message_id) => {
                let route = Route::ChannelMessage { channel_id, message_id };
                let fetched = self.rest.get::<Value>(route).await;
                fetched.map(|_| PlatformResponse::Exists)
            }
            PlatformRequest::RegisterCommands(application) => {
                let registering = self.register_commands(application, commands).await;
                registering.map(|()| PlatformResponse::Registered)
            }
        }
    }
}
