//! An answer in the form of Chat Completions, whole or as chunks.

use avocet_protocol::bus::ProgramCall;
use axum::response::sse::Event;
use serde_json::{Value, json};

use super::answer::{AnswerEnd, TurnAnswer};
use super::error::OpenAiError;
use super::stream::{WriteEvents, event};

/// The parts that all objects of a response share.
#[derive(Debug)]
pub(crate) struct ChatReply {
    pub(crate) id: String,
    pub(crate) created: i64,
    pub(crate) model: String,
    /// `true` if the last chunk has the tokens (`stream_options`).
    pub(crate) has_usage: bool,
}

/// Returns the reason in the words of the API.
fn finish_reason(end: AnswerEnd) -> &'static str {
    match end {
        AnswerEnd::Stop => "stop",
        AnswerEnd::Length => "length",
        AnswerEnd::Filtered => "content_filter",
        AnswerEnd::Calls => "tool_calls",
    }
}

fn tool_call(ProgramCall { id, name, arguments }: &ProgramCall) -> Value {
    let arguments = Value::Object(arguments.clone()).to_string();
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

impl ChatReply {
    fn object(&self, kind: &str, choices: &[Value]) -> Value {
        json!({
            "id": self.id, "object": kind, "created": self.created, "model": self.model,
            "choices": choices,
        })
    }

    pub(crate) fn whole_answer(&self, answer: &TurnAnswer) -> Value {
        let mut message = json!({ "role": "assistant", "content": answer.text, "refusal": null });
        if !answer.calls.is_empty() {
            message["tool_calls"] = answer.calls.iter().map(tool_call).collect();
            if answer.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        let choice = json!({
            "index": 0, "finish_reason": finish_reason(answer.end), "logprobs": null,
            "message": message,
        });
        let mut object = self.object("chat.completion", &[choice]);
        object["usage"] = answer.chat_usage();
        object["avocet"] = json!({ "message": answer.message, "outcome": answer.outcome });
        object
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Event {
        let choice =
            json!({ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null });
        let mut object = self.object("chat.completion.chunk", &[choice]);
        if self.has_usage {
            object["usage"] = Value::Null;
        }
        event(&object)
    }
}

impl WriteEvents for ChatReply {
    fn start(&mut self) -> Vec<Event> {
        vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn text(&mut self, delta: &str) -> Vec<Event> {
        vec![self.chunk(&json!({ "content": delta }), None)]
    }

    fn done(&mut self, answer: &TurnAnswer) -> Vec<Event> {
        let mut events = Vec::new();
        for (index, call) in answer.calls.iter().enumerate() {
            let mut call = tool_call(call);
            call["index"] = index.into();
            events.push(self.chunk(&json!({ "tool_calls": [call] }), None));
        }
        events.push(self.chunk(&json!({}), Some(finish_reason(answer.end))));
        if self.has_usage {
            let mut object = self.object("chat.completion.chunk", &[]);
            object["usage"] = answer.chat_usage();
            events.push(event(&object));
        }
        events.push(Event::default().data("[DONE]"));
        events
    }

    fn failed(&mut self, error: &OpenAiError) -> Vec<Event> {
        vec![self.chunk(&json!({}), Some("error")), event(&error.to_json())]
    }
}
