//! Events that cannot be parsed: messages are skipped, and users of buttons get an answer.

use avocet_channel_kit::Stopped;
use serde::Deserialize;
use serde_json::Value;
use serenity::builder::{
    CreateAllowedMentions, CreateInteractionResponse, CreateInteractionResponseMessage,
};
use serenity::model::id::{ChannelId, InteractionId, MessageId};

use super::Receiver;

/// The answer to an unreadable interaction; only its user sees it.
const NOT_UNDERSTOOD: &str = "I could not read this. Write it as a message, please.";

impl Receiver<'_> {
    /// Skips an unreadable message, and moves the cursor if the id of the message is known.
    pub(super) async fn skip_unreadable(&mut self, data: &Value) -> Result<(), Stopped> {
        let channel = ChannelId::deserialize(&data["channel_id"]).ok();
        let message = MessageId::deserialize(&data["id"]).ok();
        tracing::info!(?channel, ?message, "cannot read a message; skipping it");
        let ids = channel.zip(message);
        let cursor = ids.and_then(|(channel, message)| self.positions.cursor(channel, message));
        self.intake.ignore("unreadable", cursor).await?;
        if let Some((channel, message)) = ids {
            self.positions.note_read(channel, message);
        }
        Ok(())
    }

    /// Answers an unreadable interaction, if its id and token are readable.
    pub(super) async fn answer_unreadable_interaction(&self, data: &Value) -> Result<(), Stopped> {
        let id = InteractionId::deserialize(&data["id"]).ok();
        tracing::info!(?id, "cannot read an interaction; telling its user");
        self.intake.ignore("unreadable", None).await?;
        if let (Some(id), Some(token)) = (id, data["token"].as_str()) {
            self.reply_to_caller(id, token, NOT_UNDERSTOOD).await;
        }
        Ok(())
    }

    /// Answers an interaction that does not reach the agent. Only its user sees the answer.
    pub(super) async fn reply_to_caller(&self, id: InteractionId, token: &str, text: &str) {
        let line = CreateInteractionResponseMessage::new()
            .content(text)
            .ephemeral(true)
            .allowed_mentions(CreateAllowedMentions::new());
        let response = CreateInteractionResponse::Message(line);
        self.discord.respond(self.context.clock.as_ref(), id, token, &response).await;
    }
}
