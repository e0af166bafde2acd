//! Registers the chat commands with the platform, for completion. Errors are only logged, because
//! the commands work without completion.

use avocet_protocol::CommandHelp;
use serde::de::IgnoredAny;
use teloxide::payloads::{GetMyCommands, SetMyCommands};
use teloxide::types::BotCommand;

use crate::fault::BotApiError;
use crate::receive::Receiver;

/// Commands of a bot (Bot API, `setMyCommands`).
const MAX_COMMANDS: usize = 100;
/// UTF-16 units of a command's description (Bot API, `BotCommand`).
const MAX_DESCRIPTION: usize = 256;

impl Receiver<'_> {
    /// Registers the commands, unless the platform has the same list.
    pub(crate) async fn offer_commands(&self) {
        let ours = commands(&self.context.commands);
        if let Err(error) = self.register(&ours).await {
            let account = &self.telegram.account;
            tracing::warn!(%account, %error, "the platform does not complete the commands");
        }
    }

    async fn register(&self, ours: &[BotCommand]) -> Result<(), BotApiError> {
        let known: Vec<BotCommand> = self.call(GetMyCommands::new()).await?;
        if known != ours {
            let IgnoredAny = self.call(SetMyCommands::new(ours.to_vec())).await?;
            tracing::debug!(count = ours.len(), "commands registered");
        }
        Ok(())
    }
}

/// The commands in the platform's format.
fn commands(all: &[CommandHelp]) -> Vec<BotCommand> {
    let described = all.iter().filter(|command| !command.help.is_empty());
    let command = |command: &CommandHelp| BotCommand::new(command.name, cut(command.help));
    described.take(MAX_COMMANDS).map(command).collect()
}

/// Cuts a text to the length of a description.
fn cut(text: &str) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= MAX_DESCRIPTION
    };
    text.chars().take_while(fits).collect()
}
