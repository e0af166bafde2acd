//! Makes the history valid before every request, in any state that a cut, a crash or a cancellation
//! left behind. Providers refuse an invalid history, and with it every later request.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use avocet_protocol::model::{
    Message, MessageBlock, MessagePart, Messages, SentCall, SharedMessage,
};

/// Makes a history valid:
///
/// - one leading system message, and a user message after it;
/// - no two messages of the same role in a row;
/// - each call answered exactly once, directly after it, and no result without a call;
/// - unique ids, and only names that providers accept.
///
/// The text of users is never dropped. A message that does not change stays shared, and so does a
/// block: its messages are valid on their own.
#[must_use]
pub fn make_valid(messages: Messages) -> Messages {
    let (mut valid, mut single) = (ValidMessages::default(), Vec::new());
    let parts = messages.into_parts();
    valid.messages.reserve(parts.len());
    for part in parts {
        match part {
            MessagePart::One(shared) => single.push(shared),
            MessagePart::Block(block) if begins_with_user(&block) => {
                valid.add_messages(single.drain(..));
                if !valid.add_block(&block) {
                    single.extend_from_slice(block.messages());
                }
            }
            MessagePart::Block(block) => single.extend_from_slice(block.messages()),
        }
    }
    valid.add_messages(single.drain(..));
    valid.finish()
}

/// The result of a call whose own result is missing.
const NO_RESULT: &str = r#"{"error":"the result of this call was lost"}"#;

/// The most characters of the name of a tool.
const MOST_NAME: usize = 64;

#[derive(Default)]
struct ValidMessages {
    /// The system message; joined if there are several.
    system: Option<Arc<SharedMessage>>,
    messages: Messages,
    ids: HashSet<String>,
}

impl ValidMessages {
    fn add_messages(&mut self, messages: impl Iterator<Item = Arc<SharedMessage>>) {
        let mut rest = messages.peekable();
        while let Some(shared) = rest.next() {
            match shared.message() {
                Message::System { text } => self.add_system(&shared, text),
                Message::User { .. } => self.add_user(shared),
                Message::Assistant { .. } => {
                    let mut results = Vec::new();
                    while let Some(result) = rest.next_if(|next| is_result(next.message())) {
                        results.push(result);
                    }
                    self.add_assistant(shared, &results);
                }
                // The call of this result is missing.
                Message::ToolResult { .. } => {}
            }
        }
    }

    fn add_system(&mut self, shared: &Arc<SharedMessage>, more: &str) {
        self.system = match self.system.take().map(|system| system.message().clone()) {
            Some(Message::System { mut text }) if !text.is_empty() => {
                append_text(&mut text, more);
                Some(Message::System { text }.into())
            }
            _ => Some(shared.clone()),
        };
    }

    /// Adds a block that begins with a user message as a whole. Returns `false` if a message of it
    /// has to change: the first one follows a user message, or a call has an id that was used before.
    fn add_block(&mut self, block: &Arc<MessageBlock>) -> bool {
        if self.messages.last().is_some_and(is_user) {
            return false;
        }
        if block.has_calls() {
            let calls = block.messages().iter().flat_map(|shared| match shared.message() {
                Message::Assistant { calls, .. } => calls.as_slice(),
                _ => &[],
            });
            if calls.clone().any(|call| self.ids.contains(&call.id)) {
                return false;
            }
            self.ids.extend(calls.map(|call| call.id.clone()));
        }
        self.messages.push_part(MessagePart::Block(block.clone()));
        true
    }

    fn add_user(&mut self, shared: Arc<SharedMessage>) {
        let Message::User { text: more, images: pictures } = shared.message() else { return };
        if more.trim().is_empty() {
            return;
        }
        let Some(Message::User { .. }) = self.messages.last() else {
            return self.messages.push(shared);
        };
        if let Some(Message::User { mut text, mut images }) = self.messages.pop() {
            append_text(&mut text, more);
            images.extend_from_slice(pictures);
            self.messages.push(Message::User { text, images });
        }
    }

    fn add_assistant(&mut self, shared: Arc<SharedMessage>, results: &[Arc<SharedMessage>]) {
        let Message::Assistant { text, calls, reasoning } = shared.message() else { return };
        let nothing = text.trim().is_empty() && calls.is_empty();
        // A conversation begins with a user.
        if nothing || self.messages.is_empty() {
            return;
        }
        let sent: Vec<SentName<'_>> = calls.iter().map(|call| self.sendable_name(call)).collect();
        let answers =
            calls.iter().zip(&sent).map(|(call, sent)| answer_or_missing(call, sent, results));
        let answers: Vec<Arc<SharedMessage>> = answers.collect();
        let renamed = || calls.iter().zip(&sent).map(|(call, sent)| sent.of(call)).collect();
        if let Some(Message::Assistant { .. }) = self.messages.last() {
            let before = self.messages.pop();
            let Some(Message::Assistant { text: mut joined, .. }) = before else { return };
            append_text(&mut joined, text);
            let (calls, reasoning) = (renamed(), reasoning.clone());
            self.messages.push(Message::Assistant { text: joined, calls, reasoning });
        } else if calls.iter().zip(&sent).all(|(call, sent)| sent.is_of(call)) {
            self.messages.push(shared);
        } else {
            let (text, calls, reasoning) = (text.clone(), renamed(), reasoning.clone());
            self.messages.push(Message::Assistant { text, calls, reasoning });
        }
        self.messages.extend(answers);
    }

    /// Returns a unique id for a call, and a name that providers accept.
    fn sendable_name<'c>(&mut self, call: &'c SentCall) -> SentName<'c> {
        let id = if call.id.is_empty() { "call" } else { &call.id };
        let mut unique = Cow::Borrowed(id);
        for number in 2.. {
            if !self.ids.contains(&*unique) {
                break;
            }
            unique = format!("{id}-{number}").into();
        }
        self.ids.insert(unique.to_string());
        SentName { id: unique, name: sendable_tool_name(&call.name) }
    }

    fn finish(self) -> Messages {
        let system = self.system.filter(|system| !is_empty_system(system.message()));
        let Some(system) = system else { return self.messages };
        let mut messages = Messages::default();
        let parts = self.messages.into_parts();
        messages.reserve(parts.len() + 1);
        messages.push(system);
        parts.into_iter().for_each(|part| messages.push_part(part));
        messages
    }
}

/// The id and the name under which a call is sent.
struct SentName<'c> {
    id: Cow<'c, str>,
    name: Cow<'c, str>,
}

impl SentName<'_> {
    fn is_of(&self, call: &SentCall) -> bool {
        (&*self.id, &*self.name) == (call.id.as_str(), call.name.as_str())
    }

    fn of(&self, call: &SentCall) -> SentCall {
        let (id, name) = (self.id.to_string(), self.name.to_string());
        SentCall { id, name, arguments: call.arguments.clone() }
    }
}

fn begins_with_user(block: &MessageBlock) -> bool {
    block.messages().first().is_some_and(|first| is_user(first.message()))
}

fn is_empty_system(message: &Message) -> bool {
    matches!(message, Message::System { text } if text.is_empty())
}

fn is_user(message: &Message) -> bool {
    matches!(message, Message::User { .. })
}

fn is_result(message: &Message) -> bool {
    matches!(message, Message::ToolResult { .. })
}

/// Returns the first of these results that is of the call. It gets the id under which the call is
/// sent.
fn answer_or_missing(
    call: &SentCall,
    sent: &SentName<'_>,
    results: &[Arc<SharedMessage>],
) -> Arc<SharedMessage> {
    let found = results.iter().find_map(|shared| match shared.message() {
        Message::ToolResult { call: id, ok, result } if *id == call.id => {
            Some((shared, *ok, result))
        }
        _ => None,
    });
    let (ok, result) = match found {
        Some((shared, ..)) if sent.id == call.id => return shared.clone(),
        Some((_, ok, result)) => (ok, result.clone()),
        None => (false, NO_RESULT.to_owned()),
    };
    Message::ToolResult { call: sent.id.to_string(), ok, result }.into()
}

/// Returns a name that providers accept.
fn sendable_tool_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= MOST_NAME && name.chars().all(is_name) {
        return Cow::Borrowed(name);
    }
    let changed = name.chars().map(|c| if is_name(c) { c } else { '_' });
    match changed.take(MOST_NAME).collect::<String>() {
        changed if changed.is_empty() => Cow::Borrowed("unknown"),
        changed => Cow::Owned(changed),
    }
}

/// Returns `true` for characters that OpenAI, Anthropic and Gemini all accept in function names.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn append_text(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

#[cfg(test)]
#[path = "valid_tests.rs"]
mod tests;
