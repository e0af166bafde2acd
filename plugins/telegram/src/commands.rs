//! Registers the chat commands with the platform, for completion.

use avocet_channel_kit::only_shows;
use avocet_protocol::channel::CommandHelp;
use avocet_protocol::clock::Clock;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::payloads::GetMyCommands;
use teloxide::requests::Payload;

use crate::api::{ANSWER_LIMIT, Api};
use crate::fault::BotApiError;

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
    if Vec::<OfferedCommand>::deserialize(registered).ok().as_ref() != Some(&ours) {
        let count = ours.len();
        let request = SetMyCommands { commands: ours };
        let IgnoredAny = api.call_with_repeats(clock, ANSWER_LIMIT, request).await?;
        tracing::debug!(count, "commands registered");
    }
    Ok(())
}

/// A command in the platform's format (Bot API, `BotCommand`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OfferedCommand {
    command: String,
    description: String,
    /// `true` if in a group only its author sees it (Bot API 10.2). Older servers do not know the field,
    /// so that their list differs at each start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_ephemeral: bool,
}

/// The request (Bot API, `setMyCommands`). teloxide does not know each field of a command.
#[derive(Debug, Clone, Serialize)]
struct SetMyCommands {
    commands: Vec<OfferedCommand>,
}

impl Payload for SetMyCommands {
    type Output = bool;
    const NAME: &'static str = "SetMyCommands";
}

/// The commands in the platform's format.
fn commands(all: &[CommandHelp]) -> Vec<OfferedCommand> {
    let described = all.iter().filter(|command| !command.help.is_empty());
    let command = |command: &CommandHelp| OfferedCommand {
        command: command.name.to_owned(),
        description: cut(command.help),
        is_ephemeral: only_shows(command.name),
    };
    described.take(MAX_COMMANDS).map(command).collect()
}

/// Returns `true` for a text that the bus takes as a command: a slash, and a word of letters.
pub(crate) fn is_command(text: &str) -> bool {
    split_command(text).is_some()
}

/// Splits a command into its name, without the slash, and its argument.
pub(crate) fn split_command(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('/')?;
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = word.split('@').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_name.then_some((name, argument.trim()))
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
