//! Converts a conversation so that its tools, calls and results are text.

use avocet_protocol::model::{ImageRef, Message, SentCall};
use avocet_protocol::tool::ToolSpec;

use super::{AnsweredCall, Dialect};

/// See [`super::as_text`].
pub(super) fn conversation_as_text<'m>(
    dialect: &dyn Dialect,
    messages: impl IntoIterator<Item = &'m Message>,
    tools: &[ToolSpec],
) -> Vec<Message> {
    let mut text =
        TextConversation { dialect, tools, called: &[], results: Vec::new(), messages: Vec::new() };
    let rendered = if tools.is_empty() { String::new() } else { dialect.render_tools(tools) };
    let mut rest = messages.into_iter().peekable();
    let system = match rest.next_if(|first| matches!(first, Message::System { .. })) {
        Some(Message::System { text }) => join_paragraphs(text, &rendered),
        _ => rendered,
    };
    if !system.is_empty() {
        text.messages.push(Message::System { text: system });
    }
    rest.for_each(|message| text.add_message(message));
    text.add_user_message("", &[]);
    text.messages
}

struct TextConversation<'d, 'm> {
    dialect: &'d dyn Dialect,
    tools: &'d [ToolSpec],
    called: &'m [SentCall],
    /// The results for the calls of the last message.
    results: Vec<AnsweredCall<'m>>,
    messages: Vec<Message>,
}

impl<'m> TextConversation<'_, 'm> {
    fn add_message(&mut self, message: &'m Message) {
        match message {
            Message::System { .. } => self.messages.push(message.clone()),
            Message::User { text, images } => self.add_user_message(text, images),
            Message::Assistant { text, calls, .. } => {
                self.add_user_message("", &[]);
                let written = if calls.is_empty() {
                    String::new()
                } else {
                    self.dialect.render_calls(calls, self.tools)
                };
                let (text, calls_before) = (join_paragraphs(text, &written), calls);
                self.called = calls_before;
                self.messages.push(Message::Assistant { text, calls: Vec::new(), reasoning: None });
            }
            Message::ToolResult { call, ok, result } => {
                let call = self.called.iter().find(|called| called.id == *call);
                self.results.extend(call.map(|call| AnsweredCall { call, ok: *ok, result }));
            }
        }
    }

    /// Adds one message with the pending results and the user's text after them.
    fn add_user_message(&mut self, more: &str, images: &[ImageRef]) {
        let results = if self.results.is_empty() {
            String::new()
        } else {
            self.dialect.render_results(&self.results)
        };
        self.results.clear();
        let text = join_paragraphs(&results, more);
        if !text.is_empty() {
            self.messages.push(Message::User { text, images: images.to_vec() });
        }
    }
}

fn join_paragraphs(text: &str, more: &str) -> String {
    match (text.trim().is_empty(), more.is_empty()) {
        (true, _) => more.to_owned(),
        (false, true) => text.to_owned(),
        (false, false) => format!("{text}\n\n{more}"),
    }
}
