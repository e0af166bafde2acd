//! Registers the chat commands with the platform, for completion.

use avocet_protocol::channel::CommandHelp;
use avocet_protocol::clock::Clock;
use serde::de::IgnoredAny;
use serde_json::Value;
use teloxide::payloads::{GetMyCommands, SetMyCommands};
use teloxide::types::BotCommand;

use crate::api::{ANSWER_LIMIT, Api};
use crate::fault::BotApiError;
use crate::update;

/// Commands of a bot (Bot API, `setMyCommands`).
const MAX_COMMANDS: usize = 100;
/// UTF-16 units of a command's description (Bot API, `BotCommand`).
const MAX_DESCRIPTION: usize = 256;

/// Registers the commands, unless the platform has the same list.
///
/// # Errors
/// [`BotApiError`] if a request fails.
pub(crate) async fn register(
    api: &Api,
    clock: &dyn Clock,
    all: &[CommandHelp],
) -> Result<(), BotApiError> {
    let ours = commands(all);
    let registered: Value =
        api.call_with_repeats(clock, ANSWER_LIMIT, GetMyCommands::new()).await?;
    if update::read::<Vec<BotCommand>>(&registered).is_none_or(|registered| registered != ours) {
        let count = ours.len();
        let IgnoredAny =
            api.call_with_repeats(clock, ANSWER_LIMIT, SetMyCommands::new(ours)).await?;
        tracing::debug!(count, "commands registered");
    }
    Ok(())
}

/// The commands in the platform's format.
fn commands(all: &[CommandHelp]) -> Vec<BotCommand> {
    let described = all.iter().filter(|command| !command.help.is_empty());
    let command = |command: &CommandHelp| BotCommand::new(command.name, cut(command.help));
    described.take(MAX_COMMANDS).map(command).collect()
}

/// Returns `true` for a text that the bus takes as a command: a slash, and a word of letters.
pub(crate) fn is_command(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return false };
    let word = rest.split(|c: char| c.is_whitespace() || c == '@').next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
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
