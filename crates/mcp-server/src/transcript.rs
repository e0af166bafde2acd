//! Turns of a conversation as text, and as JSON.

use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::turn::{LoggedCall, Origin, TurnRecord};
use avocet_text::append_line;
use serde_json::{Value, json};

/// The most characters of a call's arguments.
const MOST_CHARS: usize = 300;

/// Writes turns as Markdown.
pub(crate) fn write_markdown(turns: &[TurnRecord]) -> String {
    let mut text = String::new();
    for turn in turns {
        write_turn(&mut text, turn);
    }
    text
}

fn write_turn(text: &mut String, turn: &TurnRecord) {
    append_line(text, format_args!("## {} ({})\n", turn.id, turn.state.as_str()));
    match &turn.origin {
        Origin::Messages(messages) => {
            messages.iter().for_each(|message| write_message(text, message));
        }
        Origin::Child { parent, prompt, .. } => {
            append_line(text, format_args!("**{parent}:** {prompt}\n"));
        }
    }
    for step in &turn.steps {
        if !step.text.trim().is_empty() {
            append_line(text, format_args!("**avocet:** {}\n", step.text));
        }
        step.calls.iter().for_each(|call| write_call(text, call));
        step.steered.iter().for_each(|message| write_message(text, message));
    }
    if let Some(notice) = &turn.notice {
        append_line(text, format_args!("*{notice}*\n"));
    }
}

fn sender_name(message: &LoggedInbound) -> &str {
    let sender = &message.message.inbound.sender;
    sender.name.as_deref().unwrap_or(sender.id.as_str())
}

fn write_message(text: &mut String, message: &LoggedInbound) {
    append_line(text, format_args!("**{}:** {}\n", sender_name(message), message.model_text()));
}

fn write_call(text: &mut String, call: &LoggedCall) {
    let arguments = Value::Object(call.call.arguments.to_object()).to_string();
    let shown: String = arguments.chars().take(MOST_CHARS).collect();
    let more = if shown.len() < arguments.len() { "…" } else { "" };
    let outcome = match call.result() {
        Some(result) if result.ok => "finished",
        Some(_) => "failed",
        None => "open",
    };
    append_line(text, format_args!("- `{}` {outcome}: `{shown}{more}`\n", call.call.name));
}

/// Describes a turn as JSON: messages and answer, without the steps between.
pub(crate) fn summarise_turn(turn: &TurnRecord) -> Value {
    let messages = turn.origin.messages().iter().map(|message| {
        json!({ "id": message.id, "sender": sender_name(message), "text": message.model_text() })
    });
    json!({
        "turn": turn.id,
        "state": turn.state.as_str(),
        "started_at": turn.started_at,
        "messages": messages.collect::<Vec<_>>(),
        "answer": turn.final_text().or(turn.notice.as_deref()),
    })
}
