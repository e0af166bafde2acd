//! Texts that people have typed, and the messages that have one author.

use teloxide::types::{Message, UpdateKind};

use crate::commands::is_command;
use crate::update::Update;

/// Returns `true` for a text that a person has typed.
pub(crate) fn is_typed(update: &Update) -> bool {
    plain_text(update).is_some()
}

/// Returns `true` if two messages are from one author, in the same chat and topic. Anonymous
/// administrators of a group differ only in their titles, if they have any.
pub(crate) fn is_same_author(one: &Update, other: &Update) -> bool {
    match (author_and_place(one), author_and_place(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Returns the author, the title of an anonymous one, and the chat with its topics. `None` without
/// an author.
fn author_and_place(update: &Update) -> Option<impl PartialEq> {
    let UpdateKind::Message(message) = &update.kind else { return None };
    let person = message.from.as_ref().map(|from| from.id);
    let chat = message.sender_chat.as_ref().map(|chat| chat.id);
    if person.is_none() && chat.is_none() {
        return None;
    }
    let title = message.author_signature();
    let place = (message.chat.id, message.thread_id, update.direct_topic);
    Some((person, chat, title, place))
}

/// Returns a message that a person has typed, and its text: no file or command, and no text of others.
pub(crate) fn plain_text(update: &Update) -> Option<(&Message, &str)> {
    let UpdateKind::Message(message) = &update.kind else { return None };
    let is_own = message.forward_origin().is_none() && message.via_bot.is_none();
    let text = message.text().filter(|_| is_own)?;
    (!is_command(text)).then_some((message, text))
}
