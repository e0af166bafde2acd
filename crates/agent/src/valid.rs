//! Makes the history valid before every request, in any state that a cut, a crash or a cancellation
//! left behind. Providers refuse an invalid history, and with it every later request.

use std::collections::HashSet;

use avocet_protocol::{ImageRef, Message, Reasoning, SentCall};

/// Makes a history valid:
///
/// - one leading system message, and a user message after it;
/// - no two messages of the same role in a row;
/// - each call answered exactly once, directly after it, and no result without a call;
/// - unique ids, and only names that providers accept.
///
/// The text of users is never dropped.
#[must_use]
pub fn make_valid(messages: Vec<Message>) -> Vec<Message> {
    let mut valid = Valid::default();
    let mut rest = messages.into_iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::System { text } => valid.system(&text),
            Message::User { text, images } => valid.user(text, images),
            Message::Assistant { text, calls, reasoning } => {
                let mut results = Vec::new();
                while let Some(Message::ToolResult { call, ok, result }) =
                    rest.next_if(|next| matches!(next, Message::ToolResult { .. }))
                {
                    results.push((call, (ok, result)));
                }
                valid.assistant(text, calls, reasoning, &results);
            }
            // The call of this result is missing.
            Message::ToolResult { .. } => {}
        }
    }
    valid.finish()
}

/// The result of a call whose own result is missing.
const NO_RESULT: &str = r#"{"error":"the result of this call was lost"}"#;

#[derive(Default)]
struct Valid {
    system: String,
    messages: Vec<Message>,
    ids: HashSet<String>,
}

impl Valid {
    fn system(&mut self, more: &str) {
        append(&mut self.system, more);
    }

    fn user(&mut self, more: String, pictures: Vec<ImageRef>) {
        if more.trim().is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(Message::User { text, images }) => {
                append(text, &more);
                images.extend(pictures);
            }
            _ => self.messages.push(Message::User { text: more, images: pictures }),
        }
    }

    fn assistant(
        &mut self,
        text: String,
        calls: Vec<SentCall>,
        thought: Option<Reasoning>,
        results: &[(String, (bool, String))],
    ) {
        let nothing = text.trim().is_empty() && calls.is_empty();
        // A conversation begins with a user.
        if nothing || self.messages.is_empty() {
            return;
        }
        let lost = || (false, NO_RESULT.to_owned());
        let answers: Vec<(bool, String)> = calls
            .iter()
            .map(|call| results.iter().find(|(id, _)| *id == call.id))
            .map(|found| found.map_or_else(lost, |(_, answer)| answer.clone()))
            .collect();
        let calls: Vec<SentCall> = calls.into_iter().map(|call| self.sendable(call)).collect();
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        match self.messages.last_mut() {
            Some(Message::Assistant { text: before, calls: none, reasoning }) => {
                append(before, &text);
                *none = calls;
                *reasoning = thought;
            }
            _ => self.messages.push(Message::Assistant { text, calls, reasoning: thought }),
        }
        for (call, (ok, result)) in ids.into_iter().zip(answers) {
            self.messages.push(Message::ToolResult { call, ok, result });
        }
    }

    /// Gives a call a unique id and a name that providers accept.
    fn sendable(&mut self, call: SentCall) -> SentCall {
        let name: String = call.name.chars().map(|c| if is_name(c) { c } else { '_' }).collect();
        let name = name.chars().take(64).collect::<String>();
        let name = if name.is_empty() { "unknown".to_owned() } else { name };
        let id = if call.id.is_empty() { "call".to_owned() } else { call.id };
        let mut unique = id.clone();
        for number in 2.. {
            if self.ids.insert(unique.clone()) {
                break;
            }
            unique = format!("{id}-{number}");
        }
        SentCall { id: unique, name, arguments: call.arguments }
    }

    fn finish(self) -> Vec<Message> {
        let system = (!self.system.is_empty()).then_some(Message::System { text: self.system });
        system.into_iter().chain(self.messages).collect()
    }
}

/// Returns `true` for characters that OpenAI, Anthropic and Gemini all accept in function names.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

#[cfg(test)]
#[path = "valid_tests.rs"]
mod tests;
