//! Finds the command that a person means.

use avocet_protocol::channel::CommandAccess;
use avocet_protocol::chat::ChatKind;
use avocet_text::nearest;

use super::list::{COMMANDS, ChatCommand, CommandVerb};

/// Other names of commands, as other programs have them.
const OTHER_NAMES: [(&str, &str); 2] = [("clear", "new"), ("cost", "usage")];

/// Finds the command with this name. The error is the refusal for the sender.
pub(super) fn find_permitted(
    word: &str,
    is_owner: bool,
    chat: ChatKind,
) -> Result<CommandVerb, String> {
    let other = OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(word));
    let name = other.map_or(word, |(_, name)| name);
    let named = |known: &&ChatCommand| known.shown.name.eq_ignore_ascii_case(name);
    let Some(known) = COMMANDS.iter().find(named) else {
        return Err(unknown_command(word, is_owner, chat));
    };
    if known.is_for(is_owner, chat) {
        return Ok(known.verb);
    }
    let only = match known.shown.access {
        CommandAccess::OwnersInPrivate => ", and only in a private chat",
        CommandAccess::Owners | CommandAccess::Everybody => "",
    };
    Err(format!("/{} is for my owner{only}.", known.shown.name))
}

/// Suggests only commands that the sender may use.
fn unknown_command(word: &str, is_owner: bool, chat: ChatKind) -> String {
    let usable = COMMANDS.iter().filter(|command| command.is_for(is_owner, chat));
    let names = usable.map(|command| command.shown.name);
    let others = OTHER_NAMES.iter().map(|(other, _)| *other);
    let meant = nearest(word, names.chain(others));
    let meant = meant.map(|name| format!(" Did you mean /{name}?")).unwrap_or_default();
    format!("I do not know the command /{word}.{meant} /help shows them all.")
}
