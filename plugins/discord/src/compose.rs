//! Composes messages for Discord: in its dialect of Markdown, cut into chunks, with buttons.

use avocet_channel_kit::{Styled, discord, plan};
use avocet_protocol::{Choice, Content, REPEAT_MARK};
use serenity::all::ButtonStyle;
use serenity::builder::{CreateActionRow, CreateButton};

/// Buttons in a row, and rows in a message (Discord API, "Action Row").
const MAX_ROW: usize = 5;
const MAX_ROWS: usize = 5;
/// Longest label of a button, and longest text that it sends, in characters (Discord API,
/// "Button").
const MAX_LABEL: usize = 80;
const MAX_CUSTOM_ID: usize = 100;

/// Cuts a reply into chunks, one per message, numbered or not.
pub(crate) fn chunks(reply: &Content, numbered: bool) -> Vec<Content> {
    // Room for the mark of a message that is sent again.
    let limit = discord::limit().reserving(mark().chars().count());
    plan(reply, limit, numbered)
}

/// Returns the text of a message in Discord's Markdown.
pub(crate) fn text(content: &Content, repeat: bool) -> String {
    let text = discord::markdown(&Styled::of(content));
    if repeat { mark() + &text } else { text }
}

/// Returns the mark of a repeated message. Its characters have no meaning in Markdown.
fn mark() -> String {
    format!("{REPEAT_MARK}\n")
}

/// Returns a button for each choice that the platform can carry; the text has the others.
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
    let buttons: Vec<CreateButton> =
        fits.into_iter().take(MAX_ROW * MAX_ROWS).map(button).collect();
    buttons.chunks(MAX_ROW).map(|row| CreateActionRow::Buttons(row.to_vec())).collect()
}

fn button(choice: &Choice) -> CreateButton {
    let label: String = choice.label.chars().take(MAX_LABEL).collect();
    CreateButton::new(&choice.says).label(label).style(ButtonStyle::Secondary)
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
