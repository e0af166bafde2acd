//! The commands of the chat, offered to the platform, so that it completes them. Nothing depends on
//! it: what goes wrong here is logged and that is all.

use avocet_protocol::CommandHelp;
use teloxide::RequestError;
use teloxide::requests::{Request, Requester};
use teloxide::types::BotCommand;

use crate::fault::fault;
use crate::receive::{Receiver, Stopped};

/// Commands of a bot (Bot API, `setMyCommands`).
const MAX_COMMANDS: usize = 100;
/// UTF-16 units of a command's description (Bot API, `BotCommand`).
const MAX_DESCRIPTION: usize = 256;

impl Receiver<'_> {
    /// Tells the platform the commands, unless it knows them.
    pub(crate) async fn offer_commands(&self) {
        let ours = commands(&self.context.commands);
        match self.register(&ours).await {
            Ok(Ok(())) | Err(Stopped::Asked | Stopped::Because(_)) => {}
            Ok(Err(error)) => {
                let (account, error) = (&self.telegram.account, fault(&error));
                tracing::warn!(%account, error, "the platform does not complete the commands");
            }
        }
    }

    async fn register(&self, ours: &[BotCommand]) -> Result<Result<(), RequestError>, Stopped> {
        let client = &self.telegram.client;
        let known = match self.asked(client.get_my_commands().send()).await? {
            Ok(known) => known,
            Err(error) => return Ok(Err(error)),
        };
        if known == ours {
            return Ok(Ok(()));
        }
        let set = self.asked(client.set_my_commands(ours.to_vec()).send()).await?;
        Ok(set.map(|_| tracing::debug!(count = ours.len(), "commands registered")))
    }
}

/// The commands as the platform takes them.
fn commands(all: &[CommandHelp]) -> Vec<BotCommand> {
    let described = all.iter().filter(|command| !command.help.is_empty());
    let command = |command: &CommandHelp| BotCommand::new(command.name, cut(command.help));
    described.take(MAX_COMMANDS).map(command).collect()
}

/// As much of a text as a description holds.
fn cut(text: &str) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= MAX_DESCRIPTION
    };
    text.chars().take_while(fits).collect()
}
