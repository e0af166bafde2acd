//! The notices of turns that end without an answer. Each names the messages that it is about.

use avocet_protocol::chat::LoggedInbound;

/// Returns the notice of an error. It replies to a single message, and names several ones.
pub(super) fn error_notice(reason: String, bound: &[LoggedInbound]) -> String {
    match bound {
        [] | [_] => reason,
        several => format!("{reason} This concerns {}.", name_messages(several)),
    }
}

/// Returns the notice for dropped messages.
pub(super) fn drop_notice(why: &str, bound: &[LoggedInbound]) -> String {
    match bound {
        [] => format!("I dropped this turn because {why}."),
        [message] => format!("I dropped this message because {why}: {}.", quoted(message, 200)),
        several => format!("I dropped what you asked because {why}: {}.", name_messages(several)),
    }
}

fn name_messages(messages: &[LoggedInbound]) -> String {
    let most_chars = if messages.len() > 5 { 60 } else { 200 };
    let quotes: Vec<String> = messages.iter().map(|one| quoted(one, most_chars)).collect();
    quotes.join(", ")
}

fn quoted(message: &LoggedInbound, most_chars: usize) -> String {
    format!("“{}”", message.model_text().chars().take(most_chars).collect::<String>())
}
