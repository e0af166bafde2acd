//! Processes messages and their edits, live or from the history: each is committed with its
//! position.

use avocet_channel_kit::Stopped;
use avocet_protocol::chat::Cursor;
use serde_json::Value;
use serenity::model::channel::Message;

use crate::channels::DiscordChannel;
use crate::convert::MessageVersion;
use crate::discord::reactions::ReactionChange;
use crate::gateway::BotIds;
use crate::lenient;

use super::Receiver;
use super::background::BackgroundRequest;
use super::stages::{MessageStages, SkipReason};

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
        let cursor = self.positions.cursor(message.channel_id, message.id);
        self.run_stages(bot, message, MessageVersion::Original, cursor).await?;
        self.positions.note_read(message.channel_id, message.id);
        Ok(())
    }

    async fn run_stages(
        &mut self,
        bot: BotIds,
        message: &Message,
        version: MessageVersion,
        cursor: Option<Cursor>,
    ) -> Result<(), Stopped> {
        let intake = self.intake;
        let mut stages = MessageStages::new(self, bot, message, version);
        intake.run_stages(&mut stages, cursor).await?;
        Ok(())
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

    /// Processes an edit of a message. An edit that adds a forgotten mention is the first version for
    /// the agent.
    pub(super) async fn handle_edit(
        &mut self,
        bot: BotIds,
        message: &Message,
    ) -> Result<(), Stopped> {
        let channel_type = self.channel_type(message.channel_id);
        let is_first = self.unmentioned.contains(&message.id)
            && self.skip_reason(bot, message, channel_type).is_none();
        let version = if is_first { MessageVersion::Original } else { MessageVersion::Edited };
        self.run_stages(bot, message, version, None).await
    }
}
