//! Processes commands before missed messages: `/stop` has to work even while a channel's history
//! cannot be read (F11).

use avocet_channel_kit::Stopped;
use serenity::model::channel::Message;

use crate::convert::MessageVersion;
use crate::gateway::{BotIds, LiveEvent, MESSAGE_CREATE};
use crate::lenient;

use super::Receiver;

impl Receiver<'_> {
    /// Returns the command in a live event, if it is one of ours.
    pub(super) fn command_in(&self, bot: BotIds, event: &LiveEvent) -> Option<Message> {
        let text = event.data["content"].as_str().filter(|_| event.name == MESSAGE_CREATE)?;
        if !self.identity(bot).is_command(text) {
            return None;
        }
        lenient::message(&event.data)
    }

    /// Processes a command that is held back. The cursor does not move, so the command is also read
    /// from the history later. The log then recognises its key.
    pub(super) async fn handle_early_command(
        &self,
        bot: BotIds,
        command: &Message,
    ) -> Result<(), Stopped> {
        let Some(channel_type) = self.channels.get(command.channel_id) else { return Ok(()) };
        if self.skip_reason(bot, command, channel_type).is_some() {
            return Ok(());
        }
        let mut converted =
            self.identity(bot).message(command, channel_type, MessageVersion::Original);
        // It is a live event, which has the roles of its author.
        let roles = command.member.as_ref().map(|member| &member.roles[..]).unwrap_or_default();
        converted.set_author_roles(self.discord.settings.named_roles(roles));
        self.intake.take(converted, None).await?;
        Ok(())
    }
}
