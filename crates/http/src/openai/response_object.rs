//! An answer in the form of Responses, whole or as events.

use avocet_protocol::bus::ProgramCall;
use avocet_protocol::ids::MessageId;
use axum::response::sse::Event;
use serde_json::{Value, json};

use super::answer::{AnswerEnd, TurnAnswer};
use super::conversation::RESPONSE;
use super::error::OpenAiError;
use super::stream::WriteEvents;

/// A response, as far as it is known.
#[derive(Debug)]
pub(crate) struct ResponseObject {
    message: MessageId,
    /// The time of acceptance, in seconds since 1970.
    created: i64,
    model: String,
    previous: Option<String>,
    written: String,
    /// The number of the next event.
    next: u64,
}

impl ResponseObject {
    pub(crate) fn new(
        message: MessageId,
        created: i64,
        model: String,
        previous: Option<String>,
    ) -> Self {
        Self { message, created, model, previous, written: String::new(), next: 0 }
    }

    fn item_id(&self) -> String {
        format!("msg_{}", self.message)
    }

    fn part(text: &str) -> Value {
        json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
    }

    fn text_item(&self, status: &str, parts: &[Value]) -> Value {
        json!({
            "type": "message", "id": self.item_id(), "status": status, "role": "assistant",
            "content": parts,
        })
    }

    fn call_item(call: &ProgramCall, status: &str) -> Value {
        let ProgramCall { id, name, arguments } = call;
        let arguments = Value::Object(arguments.clone()).to_string();
        json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": arguments, "status": status,
        })
    }

    fn object(&self, status: &str, output: &[Value]) -> Value {
        json!({
            "id": format!("{RESPONSE}{}", self.message), "object": "response",
            "created_at": self.created, "status": status, "model": self.model, "output": output,
            "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
            "parallel_tool_calls": true, "previous_response_id": self.previous,
            "temperature": null, "tool_choice": "auto", "tools": [], "top_p": null,
            "usage": null,
        })
    }

    /// Returns the response before its end.
    pub(crate) fn open(&self) -> Value {
        self.object("in_progress", &[])
    }

    /// Returns the response with its answer.
    pub(crate) fn whole_answer(&self, answer: &TurnAnswer) -> Value {
        let (status, reason) = match answer.end {
            AnswerEnd::Stop | AnswerEnd::Calls => ("completed", None),
            AnswerEnd::Length => ("incomplete", Some("max_output_tokens")),
            AnswerEnd::Filtered => ("incomplete", Some("content_filter")),
        };
        let mut output = Vec::new();
        if !answer.text.is_empty() || answer.calls.is_empty() {
            output.push(self.text_item(status, &[Self::part(&answer.text)]));
        }
        output.extend(answer.calls.iter().map(|call| Self::call_item(call, "completed")));
        let mut object = self.object(status, &output);
        if let Some(reason) = reason {
            object["incomplete_details"] = json!({ "reason": reason });
        }
        object["usage"] = answer.response_usage();
        object
    }

    /// Returns the response of a turn that failed.
    pub(crate) fn without_answer(&self, error: &OpenAiError) -> Value {
        let mut object = self.object("failed", &[]);
        object["error"] = json!({ "code": "server_error", "message": error.detail() });
        object
    }

    /// Makes an event of this type with the next number.
    fn event(&mut self, kind: &str, mut fields: Value) -> Event {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.next.into();
        self.next += 1;
        Event::default().event(kind).data(fields.to_string())
    }

    fn about_text(&mut self, kind: &str, mut fields: Value) -> Event {
        fields["item_id"] = self.item_id().into();
        fields["output_index"] = 0.into();
        fields["content_index"] = 0.into();
        self.event(kind, fields)
    }

    /// Writes the events of a call, which is the item at `index`.
    fn call_events(&mut self, call: &ProgramCall, index: usize) -> Vec<Event> {
        let mut open = Self::call_item(call, "in_progress");
        let whole = Self::call_item(call, "completed");
        let (id, arguments) = (whole["id"].clone(), whole["arguments"].clone());
        open["arguments"] = "".into();
        let about = |key: &str| json!({ "item_id": id, "output_index": index, key: arguments, "name": call.name });
        let (delta, done) = (about("delta"), about("arguments"));
        vec![
            self.event(
                "response.output_item.added",
                json!({ "output_index": index, "item": open }),
            ),
            self.event("response.function_call_arguments.delta", delta),
            self.event("response.function_call_arguments.done", done),
            self.event(
                "response.output_item.done",
                json!({ "output_index": index, "item": whole }),
            ),
        ]
    }
}

impl WriteEvents for ResponseObject {
    fn start(&mut self) -> Vec<Event> {
        let (open, item) = (self.open(), self.text_item("in_progress", &[]));
        vec![
            self.event("response.created", json!({ "response": open })),
            self.event("response.in_progress", json!({ "response": open })),
            self.event("response.output_item.added", json!({ "output_index": 0, "item": item })),
            self.about_text("response.content_part.added", json!({ "part": Self::part("") })),
        ]
    }

    fn text(&mut self, delta: &str) -> Vec<Event> {
        self.written.push_str(delta);
        let fields = json!({ "delta": delta, "logprobs": [] });
        vec![self.about_text("response.output_text.delta", fields)]
    }

    fn done(&mut self, answer: &TurnAnswer) -> Vec<Event> {
        let text = self.written.clone();
        let part = Self::part(&text);
        let item = self.text_item("completed", std::slice::from_ref(&part));
        let mut whole = self.whole_answer(&TurnAnswer { text: text.clone(), ..answer.clone() });
        // The events have announced the text as the first item, also without words.
        if text.is_empty() && !answer.calls.is_empty() {
            let calls = answer.calls.iter().map(|call| Self::call_item(call, "completed"));
            whole["output"] = std::iter::once(item.clone()).chain(calls).collect();
        }
        let mut events = vec![
            self.about_text("response.output_text.done", json!({ "text": text, "logprobs": [] })),
            self.about_text("response.content_part.done", json!({ "part": part })),
            self.event("response.output_item.done", json!({ "output_index": 0, "item": item })),
        ];
        for (place, call) in answer.calls.iter().enumerate() {
            events.append(&mut self.call_events(call, place + 1));
        }
        let kind = match whole["status"].as_str() {
            Some("incomplete") => "response.incomplete",
            _ => "response.completed",
        };
        events.push(self.event(kind, json!({ "response": whole })));
        events
    }

    fn failed(&mut self, error: &OpenAiError) -> Vec<Event> {
        let response = self.without_answer(error);
        vec![self.event("response.failed", json!({ "response": response }))]
    }
}
