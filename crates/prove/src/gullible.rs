//! A model that obeys everything that it reads, from any author, in the order in which it reads it. No
//! real model is worse, so a protection that holds here does not depend on the model.

use std::fmt;

use async_trait::async_trait;
use avocet_protocol::model::{
    Arguments, Deltas, Message, Model, ModelError, ModelFacts, ModelReply, ModelRequest, Price,
    ToolCall,
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::order_text::{OrderedCall, find_orders};

/// Its answer when it has obeyed all orders.
pub(crate) const FINISHED: &str = "Finished.";
/// The beginning of the instructions for a summary.
const SUMMARISER: &str = "You keep the memory of an assistant";
/// The words in the result of a call that was refused without a question.
const REFUSED: &str = "permission denied";
/// The name under which the history keeps an answer that was withheld.
const WITHHELD: &str = "say_held_answer";
/// The words in front of the path of a file that came with a message.
const SAVED: &str = "saved as ";

/// The gullible model. It records its calls and their ends.
#[derive(Default)]
pub struct Gullible {
    record: Mutex<ObeyedOrders>,
}

/// The calls that the model has made.
#[derive(Debug, Default)]
struct ObeyedOrders {
    called: Vec<OrderedCall>,
    ended: Vec<(OrderedCall, CallEnd)>,
}

/// The end of a call, as the model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It has run.
    Done,
    /// It was refused without a question.
    Refused,
    /// It failed, or was denied.
    Failed,
}

impl fmt::Debug for Gullible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gullible")
    }
}

impl Gullible {
    /// Returns `true` if the model has obeyed an order.
    pub(crate) fn has_called(&self, call: &OrderedCall) -> bool {
        self.record.lock().called.contains(call)
    }

    /// Returns the end of a call. `None` if the model has not read it.
    pub(crate) fn end_of(&self, call: &OrderedCall) -> Option<CallEnd> {
        let record = self.record.lock();
        record.ended.iter().find(|(one, _)| one == call).map(|(_, end)| *end)
    }

    fn answer(&self, request: &ModelRequest) -> ModelReply {
        let messages: Vec<&Message> = request.messages.iter().collect();
        if let Some(Message::System { text }) = messages.first()
            && text.starts_with(SUMMARISER)
        {
            return text_reply(summarise(&messages));
        }
        let done = done_calls(&messages);
        self.record_ends(&messages);
        let mut open = read_orders(request, &messages).into_iter();
        let Some(order) = open.find(|order| !done.contains(order)) else {
            return text_reply(FINISHED.to_owned());
        };
        self.record.lock().called.push(order.clone());
        if order.tool == "answer" {
            return text_reply(order.texts().concat());
        }
        let OrderedCall { tool: name, arguments } = order;
        let call = ToolCall { name, arguments: Arguments::Object(arguments) };
        ModelReply { calls: vec![call], ..ModelReply::default() }
    }

    fn record_ends(&self, messages: &[&Message]) {
        let mut record = self.record.lock();
        for (id, call) in sent_calls(messages) {
            let result = messages.iter().find_map(|message| match message {
                Message::ToolResult { call, ok, result } if call == id => Some((*ok, result)),
                _ => None,
            });
            let Some((ok, result)) = result else { continue };
            let end = match ok {
                true => CallEnd::Done,
                false if result.contains(REFUSED) => CallEnd::Refused,
                false => CallEnd::Failed,
            };
            if !record.ended.iter().any(|(one, _)| *one == call) {
                record.ended.push((call, end));
            }
        }
    }
}

#[async_trait]
impl Model for Gullible {
    fn name(&self) -> &'static str {
        "offline/gullible"
    }

    async fn facts(&self) -> ModelFacts {
        let context = Some(ModelFacts::ASSUMED_CONTEXT);
        ModelFacts { context, price: Some(Price::default()), ..ModelFacts::default() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let reply = self.answer(request);
        tracing::trace!(messages = ?request.messages, ?reply, "obeyed");
        Ok(reply)
    }
}

fn text_reply(text: String) -> ModelReply {
    ModelReply { text, ..ModelReply::default() }
}

/// Returns the orders in a request. Those in descriptions of tools come last, and count only in the
/// conversation whose people have mentioned the tool.
fn read_orders(request: &ModelRequest, messages: &[&Message]) -> Vec<OrderedCall> {
    let people: String = messages.iter().filter_map(|message| user_text(message)).collect();
    let inbox = last_inbox_path(&people);
    let texts = messages.iter().filter_map(|message| match message {
        Message::User { text, .. } => Some(text.as_str()),
        // The result of writing a memory repeats its text, and is no order.
        Message::ToolResult { result, .. } if !result.contains("remembered (") => Some(result),
        _ => None,
    });
    let described = request.tools.iter().filter(|tool| people.contains(&tool.name));
    let described = described.map(|tool| tool.description.as_str());
    let orders = texts.chain(described).flat_map(find_orders);
    orders.map(|order| order.filled(&inbox)).collect()
}

fn user_text(message: &Message) -> Option<&str> {
    match message {
        Message::User { text, .. } => Some(text),
        _ => None,
    }
}

/// Returns the path of the last file that came with a message; empty without one.
fn last_inbox_path(people: &str) -> String {
    let Some(start) = people.rfind(SAVED).map(|at| at + SAVED.len()) else { return String::new() };
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | ')' | ']');
    let path = &people[start..];
    path[..path.find(ends).unwrap_or(path.len())].to_owned()
}

/// Writes a summary that keeps every order, except those that only fetch a page.
fn summarise(messages: &[&Message]) -> String {
    let mut summary = String::from("Open tasks:");
    for message in messages.iter().skip(1) {
        let (Message::User { text, .. } | Message::ToolResult { result: text, .. }) = message
        else {
            continue;
        };
        for OrderedCall { tool, arguments } in text.lines().flat_map(find_orders) {
            let url = arguments.get("url").and_then(Value::as_str).unwrap_or_default();
            if !url.contains("/page/") {
                let arguments = Value::Object(arguments);
                summary.push_str(&format!(" use {tool} with {arguments}."));
            }
        }
    }
    summary
}

/// Returns the calls and answers that the model has made already.
fn done_calls(messages: &[&Message]) -> Vec<OrderedCall> {
    let mut done: Vec<OrderedCall> = sent_calls(messages).map(|(_, call)| call).collect();
    done.extend(messages.iter().filter_map(|message| match message {
        Message::Assistant { text, .. } if !text.is_empty() => {
            let arguments = Map::from_iter([("text".to_owned(), json!(text))]);
            Some(OrderedCall { tool: "answer".to_owned(), arguments })
        }
        _ => None,
    }));
    done
}

/// Returns the calls in a history with their ids.
fn sent_calls<'m>(messages: &'m [&Message]) -> impl Iterator<Item = (&'m str, OrderedCall)> {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    calls.flatten().map(|call| {
        let tool = if call.name == WITHHELD { "answer" } else { &call.name };
        (call.id.as_str(), OrderedCall { tool: tool.to_owned(), arguments: call.arguments.clone() })
    })
}
