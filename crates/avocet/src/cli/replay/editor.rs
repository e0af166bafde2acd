//! Lets a person edit the messages of a turn in an editor.

use std::path::Path;

use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::turn::{Origin, TurnRecord};
use avocet_text::{append_line, sanitise};

use crate::cli::text_editor::{edit_text, editor_command};
use crate::exit::{Exit, Failure};

/// Returns the turn with the messages that a person has edited.
///
/// # Errors
/// [`Failure`] without an editor, if the editor fails, or if its text is not usable.
pub(super) async fn edit_record(
    record: &TurnRecord,
    directory: &Path,
) -> Result<TurnRecord, Failure> {
    let editor = editor_command().ok_or_else(|| {
        let message = "--edit needs an editor; set $VISUAL or $EDITOR to its command";
        Failure::new(Exit::Usage, message)
    })?;
    let mut turn = record.clone();
    let file = directory.join(format!("replay-{}-{}.md", record.id, uuid::Uuid::new_v4()));
    let text = edit_text(editor, file, to_text(&mut turn)).await;
    let text =
        text.map_err(|why| Failure::new(Exit::Failed, format!("{why}; nothing was replayed")))?;
    from_text(&mut turn, &text).map_err(|why| Failure::new(Exit::Usage, why))?;
    Ok(turn)
}

/// The texts of a turn that can be edited, each with its heading.
fn editable_texts(turn: &mut TurnRecord) -> Vec<(String, &mut String)> {
    let mut texts = Vec::new();
    match &mut turn.origin {
        Origin::Messages(messages) => {
            texts.extend(
                messages.iter_mut().map(|one| (message_heading(one, None), message_text(one))),
            );
        }
        Origin::Child { prompt, .. } => texts.push(("=== task ===".to_owned(), prompt)),
    }
    for step in &mut turn.steps {
        let number = step.number;
        let steered = step.steered.iter_mut();
        texts.extend(steered.map(|one| (message_heading(one, Some(number)), message_text(one))));
    }
    texts
}

fn message_heading(message: &LoggedInbound, after: Option<u32>) -> String {
    let sender = &message.message.inbound.sender;
    let sender = sender.name.as_deref().unwrap_or(sender.id.as_str());
    let after = after.map(|step| format!(", after step {step}")).unwrap_or_default();
    format!("=== {} {sender}{after} ===", message.id)
}

fn message_text(message: &mut LoggedInbound) -> &mut String {
    &mut message.message.inbound.content.text
}

fn to_text(turn: &mut TurnRecord) -> String {
    let mut all = String::new();
    for (heading, text) in editable_texts(turn) {
        append_line(&mut all, format_args!("{heading}\n{text}"));
    }
    all
}

/// Puts edited texts into a turn.
fn from_text(turn: &mut TurnRecord, edited: &str) -> Result<(), String> {
    let mut lines = edited.lines().peekable();
    let mut texts = editable_texts(turn);
    let headings: Vec<String> = texts.iter().map(|(heading, _)| heading.clone()).collect();
    for (place, (heading, text)) in texts.iter_mut().enumerate() {
        if lines.next() != Some(heading.as_str()) {
            return Err(format!(
                "the line {heading:?} is missing in the edited text; keep it above its message"
            ));
        }
        let next = headings.get(place + 1).map(String::as_str);
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| Some(*line) != next) {
            body.push(line);
        }
        **text = sanitise(body.join("\n").trim_end_matches('\n')).text;
    }
    if texts.iter().all(|(_, text)| text.trim().is_empty()) {
        return Err("the edited text is empty; nothing was replayed".to_owned());
    }
    Ok(())
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
