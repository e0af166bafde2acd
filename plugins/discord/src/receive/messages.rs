//! Processes messages and their edits, live or from the history: each is committed with its
//! position.

use avocet_channel_kit::{Converted, Stopped, Taken};
use avocet_protocol::Quote;
use serde_json::Value;
use serenity::model::channel::Message;

use crate::channels::DiscordChannel;
use crate::convert::{MessageVersion, NOT_MENTIONED};
use crate::gateway::BotIds;
use crate::lenient;
use crate::reactions::ReactionChange;

use super::Receiver;
use super::background::BackgroundRequest;

/// The reason for skipping a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// The message is the bot's own. It is not counted.
    Own,
    /// The message is counted under this reason.
    Ignored(&'static str),
}

impl Receiver<'_> {
    /// Processes a message as the platform sends it, live or from the history.
    pub(super) async fn handle_raw_message(
        &mut self,
        bot: BotIds,
        data: &Value,
    ) -> Result<(), Stopped> {
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
                let converted = self.convert(bot, message, channel_type).await;
                let earlier = match &converted {
                    Converted::Inbound(inbound) => inbound.content.earlier.clone(),
                    _ => Vec::new(),
                };
                if self.intake.take(converted, cursor).await? == Taken::Accepted {
                    self.note_accepted(bot, message, earlier);
                }
            }
            (Some(SkipReason::Ignored(reason)), cursor) => {
                if reason == NOT_MENTIONED {
                    self.note_recent(bot, message);
                }
                self.intake.ignore(reason, cursor).await?;
            }
            (Some(SkipReason::Own), cursor) => {
                self.reactions.note_own(message.channel_id, message.id);
                if matches!(channel_type, DiscordChannel::Thread { .. }) {
                    self.note_spoken(message.channel_id);
                }
                if let Some(cursor) = cursor {
                    self.intake.move_cursor(cursor).await?;
                }
            }
        }
        self.positions.note_read(message.channel_id, message.id);
        Ok(())
    }

    /// Converts a message for the agent. In a server, it gets the messages before it.
    async fn convert(
        &mut self,
        bot: BotIds,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Converted {
        let version = MessageVersion::Original;
        let mut converted = self.identity(bot).message(message, channel_type, version);
        let is_command = self.identity(bot).is_command(&message.content);
        let reactions = self.reactions.of_chat(&message.channel_id, message.author.id.get());
        if is_command && channel_type == DiscordChannel::Direct {
            return converted;
        }
        if channel_type == DiscordChannel::Direct {
            converted.set_earlier(reactions);
            return converted;
        }
        if let Some(heading) = self.posts.heading(message, channel_type) {
            converted.put_above(&heading);
        }
        if self.identity(bot).wants_thread(message, channel_type) {
            let title = self.identity(bot).title(message);
            self.discord.task_threads.want(message.id, &title);
        }
        let roles = self.author_roles(message, channel_type).await;
        converted.set_author_roles(roles);
        if !is_command {
            let mut earlier = self.messages_before(bot, message).await;
            earlier.extend(reactions);
            converted.set_earlier(earlier);
        }
        converted
    }

    /// Removes the context that came with an accepted message, because it is in the conversation
    /// now. Shows that the message was received, if the bot reacts to messages.
    fn note_accepted(&mut self, bot: BotIds, message: &Message, earlier: Vec<Quote>) {
        if self.identity(bot).is_command(&message.content) {
            return;
        }
        self.reactions.forget(&message.channel_id);
        self.recent.forget_before(message.channel_id, message.id);
        self.recent.note_given(message.id, earlier);
        let emojis = &self.discord.settings.reactions;
        let change = ReactionChange::received(emojis, message.channel_id, message.id);
        // A message that is received again may have its answer.
        if let Some(change) = change.filter(|_| !self.reacting.has_ended(message.id)) {
            self.react(change);
        }
    }

    /// Changes reactions after the earlier changes of the same message.
    pub(super) fn react(&mut self, change: ReactionChange) {
        self.background.extend(self.reacting.add(change).map(BackgroundRequest::React));
    }

    /// Returns the reason for skipping a message; `None` if the message is for the agent.
    pub(super) fn skip_reason(
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
    pub(super) async fn handle_update(&mut self, bot: BotIds, data: &Value) -> Result<(), Stopped> {
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
    pub(super) async fn handle_edit(
        &mut self,
        bot: BotIds,
        message: &Message,
    ) -> Result<(), Stopped> {
        let channel_type = self.channel_type(message.channel_id);
        match self.skip_reason(bot, message, channel_type) {
            Some(SkipReason::Own) => Ok(()),
            Some(SkipReason::Ignored(reason)) => self.intake.ignore(reason, None).await,
            None => {
                let version = MessageVersion::Edited;
                let mut converted = self.identity(bot).message(message, channel_type, version);
                if let Some(heading) = self.posts.heading(message, channel_type) {
                    converted.put_above(&heading);
                }
                if !self.identity(bot).is_command(&message.content) {
                    converted.set_earlier(self.recent.given(message.id));
                }
                let roles = self.author_roles(message, channel_type).await;
                converted.set_author_roles(roles);
                self.intake.take(converted, None).await?;
                Ok(())
            }
        }
    }
}
