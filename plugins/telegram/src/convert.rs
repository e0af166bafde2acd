//! Converts updates of the platform to inbound messages, or to a reason for ignoring them.

use avocet_channel_kit::Converted;
use avocet_protocol::chat::{Attachment, Content, Quote};
use avocet_protocol::ids::IdError;
use teloxide::types::UpdateKind;

use crate::bot::{Audience, BotIdentity};
use crate::update::Update;

/// The reason for ignoring a message of a group that is not for the bot.
pub(crate) const NOT_MENTIONED: &str = "not mentioned";

/// Converts an update, or the updates of an album as one. An album is for the bot if one of its
/// messages is.
pub(crate) fn convert(bot: &BotIdentity<'_>, updates: &[Update]) -> Converted {
    convert_for(audience(bot, updates), bot, updates)
}

/// Returns the audience of the message that these updates form.
pub(crate) fn audience(bot: &BotIdentity<'_>, updates: &[Update]) -> Audience {
    if updates.iter().any(|update| is_for_bot(bot, update)) {
        Audience::Bot
    } else {
        Audience::Others
    }
}

/// Like [`convert`], for a known audience.
pub(crate) fn convert_for(
    audience: Audience,
    bot: &BotIdentity<'_>,
    updates: &[Update],
) -> Converted {
    let convert = |update| convert_one(bot, update, audience).unwrap_or_else(Converted::from);
    updates.iter().map(convert).reduce(joined).unwrap_or(Converted::Ignored("empty"))
}

/// Returns `true` if an update is a message for the bot, or a part of an album for it.
pub(crate) fn is_for_bot(bot: &BotIdentity<'_>, update: &Update) -> bool {
    match &update.kind {
        UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => {
            message.chat.is_private()
                || bot.listens_to_all(message.chat.id)
                || bot.is_addressed(message)
                || bot.albums.has(update)
        }
        _ => false,
    }
}

fn convert_one(
    bot: &BotIdentity<'_>,
    update: &Update,
    audience: Audience,
) -> Result<Converted, IdError> {
    if update.has_lost_topic {
        return Ok(Converted::Ignored("a button of an unknown topic"));
    }
    let bot = bot.reading(update);
    match &update.kind {
        UpdateKind::Message(message) => bot.message(message, audience),
        UpdateKind::EditedMessage(message) => bot.edited(message, audience),
        UpdateKind::CallbackQuery(query) => bot.pressed(query),
        UpdateKind::Error(raw) => bot.raw_update(raw),
        _ => Ok(Converted::Ignored("of another kind")),
    }
}

/// Joins a message with the next one: of the same album or text, or forwarded with it.
fn joined(first: Converted, next: Converted) -> Converted {
    match (first, next) {
        (Converted::Inbound(mut first), Converted::Inbound(next)) => {
            let (content, next) = (&mut first.content, next.content);
            let is_file_of_same =
                next.text.is_empty() && content.forwarded_from == next.forwarded_from;
            if next.forwarded_from.is_some() && !is_file_of_same {
                content.forwarded.push(as_forwarded(&next));
            } else {
                let gap = if content.text.is_empty() || next.text.is_empty() { "" } else { "\n" };
                content.text = format!("{}{gap}{}", content.text, next.text);
            }
            content.untrusted.extend(next.untrusted);
            // Each part of an album repeats the files of the message replied to.
            content.attachments.extend(next.attachments.into_iter().filter(|file| !file.quoted));
            Converted::Inbound(first)
        }
        (first @ Converted::Inbound(_), _) => first,
        (_, next) => next,
    }
}

/// Returns a forwarded message with its text, or with a line for each of its files.
fn as_forwarded(content: &Content) -> Quote {
    let files = || content.own_files().map(Attachment::describe).collect::<Vec<_>>();
    let text = if content.text.is_empty() { files().join("\n") } else { content.text.clone() };
    Quote { from: content.forwarded_from.clone(), text }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
