//! Composes messages for Discord: in its dialect of Markdown, cut into chunks, with buttons or a
//! menu.

use std::time::Duration;

use avocet_channel_kit::{Limit, discord, plan_preview_styled, plan_styled};
use avocet_protocol::chat::{Choice, Content, Delivery, REPEAT_MARK};
use serenity::all::ButtonStyle;
use serenity::builder::create_poll::Ready;
use serenity::builder::{
    CreateActionRow, CreateAllowedMentions, CreateButton, CreateMessage, CreatePoll,
    CreatePollAnswer, CreateSelectMenu, CreateSelectMenuKind, CreateSelectMenuOption,
};

use serenity::model::channel::MessageFlags;
use serenity::model::id::UserId;

use crate::convert::interaction_of;

/// Buttons in a row (Discord API, "Action Row"). More choices become a menu.
const MAX_ROW: usize = 5;
/// Options of a menu (Discord API, "String Select").
const MAX_OPTIONS: usize = 25;
/// Longest label of a button and of an option, and longest text that each sends, in characters
/// (Discord API, "Button", "Select Option").
const MAX_LABEL: usize = 80;
const MAX_OPTION_LABEL: usize = 100;
const MAX_CUSTOM_ID: usize = 100;
/// Characters of a line that mentions a person: the largest id, its marks, and the line break.
const MAX_MENTION: usize = 24;
/// The id of a menu. The chosen option has the text.
const MENU: &str = "menu";

/// Cuts a reply into chunks, one per message, numbered or not.
pub(crate) fn chunks(reply: &Content, numbered: bool) -> Vec<Content> {
    in_place(reply, plan_styled(reply, &discord::styled(reply), limit(reply), numbered))
}

/// Cuts the beginning of a reply that grows.
pub(crate) fn preview_chunks(reply: &Content, numbered: bool) -> Vec<Content> {
    in_place(reply, plan_preview_styled(reply, &discord::styled(reply), limit(reply), numbered))
}

/// Composes the message of a chunk: its text, with its poll or its choices. No one is notified, except
/// the author of the message replied to if `pings` is `true`, and the person whom the text mentions.
pub(crate) fn draft(
    delivery: &Delivery,
    text: &str,
    pings: bool,
    mentioned: Option<UserId>,
) -> CreateMessage {
    let message = match poll(&delivery.content) {
        Some(poll) => CreateMessage::new().poll(poll),
        None => CreateMessage::new(),
    };
    message
        .content(text)
        .allowed_mentions(CreateAllowedMentions::new().replied_user(pings).users(mentioned))
        .flags(MessageFlags::SUPPRESS_EMBEDS)
        .components(buttons(&delivery.content.choices))
}

/// The size limit, with room for the mark of a message that is sent again, and for a mention.
fn limit(reply: &Content) -> Limit {
    let mention = if reply.notifies.is_some() { MAX_MENTION } else { 0 };
    discord::limit().reserving(mark().chars().count() + mention)
}

fn in_place(reply: &Content, mut chunks: Vec<Content>) -> Vec<Content> {
    // Every chunk of the answer to a command is a response to the command.
    if let Some(key) = reply.reply_to.as_ref().filter(|key| interaction_of(key).is_some()) {
        chunks.iter_mut().for_each(|chunk| chunk.reply_to = Some(key.clone()));
    }
    chunks
}

/// Returns the text of a message in Discord's Markdown. A poll shows its question itself, so its
/// message has no text except the mark.
pub(crate) fn text(content: &Content, repeat: bool) -> String {
    text_with_mention(content, repeat, None)
}

/// Works as [`text`], with a line that mentions a person.
pub(crate) fn text_with_mention(
    content: &Content,
    repeat: bool,
    mentioned: Option<UserId>,
) -> String {
    let mark = if repeat { mark() } else { String::new() };
    let mention = mentioned.map(|user| format!("<@{user}>\n")).unwrap_or_default();
    if content.poll.is_some() {
        return format!("{mark}{mention}").trim_end().to_owned();
    }
    mark + &mention + &discord::markdown(&discord::styled(content))
}

/// Returns the mark of a repeated message. Its characters have no meaning in Markdown.
fn mark() -> String {
    format!("{REPEAT_MARK}\n")
}

/// Returns a button, or an option of a menu, for each choice that the platform can carry. The text
/// lists the other choices.
pub(crate) fn buttons(choices: &[Choice]) -> Vec<CreateActionRow> {
    let mut fits: Vec<&Choice> = Vec::new();
    for choice in choices {
        let length = choice.says.chars().count();
        let is_duplicate = fits.iter().any(|other| other.says == choice.says);
        if (1..=MAX_CUSTOM_ID).contains(&length) && !choice.label.trim().is_empty() && !is_duplicate
        {
            fits.push(choice);
        }
    }
    match fits.len() {
        0 => Vec::new(),
        1..=MAX_ROW => vec![CreateActionRow::Buttons(fits.into_iter().map(button).collect())],
        _ => {
            let options = fits.into_iter().take(MAX_OPTIONS).map(option).collect();
            let kind = CreateSelectMenuKind::String { options };
            vec![CreateActionRow::SelectMenu(CreateSelectMenu::new(MENU, kind))]
        }
    }
}

/// Returns the poll of a message.
pub(crate) fn poll(content: &Content) -> Option<CreatePoll<Ready>> {
    let poll = content.poll.as_ref()?;
    let answers = poll.answers.iter().map(|answer| CreatePollAnswer::new().text(answer));
    let created = CreatePoll::new()
        .question(&content.text)
        .answers(answers.collect())
        .duration(Duration::from_hours(poll.hours.into()));
    Some(if poll.multiple { created.allow_multiselect() } else { created })
}

fn option(choice: &Choice) -> CreateSelectMenuOption {
    let label: String = choice.label.chars().take(MAX_OPTION_LABEL).collect();
    CreateSelectMenuOption::new(label, &choice.says)
}

fn button(choice: &Choice) -> CreateButton {
    let label: String = choice.label.chars().take(MAX_LABEL).collect();
    CreateButton::new(&choice.says).label(label).style(ButtonStyle::Secondary)
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
