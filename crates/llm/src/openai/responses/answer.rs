//! Builds an answer from the events of its stream (OpenAI API reference, "Streaming events"), or
//! from a complete body of a server without streaming.

use std::time::Duration;

use avocet_protocol::{ToolCall, USE_TOOLS, Usage, plain_json};
use serde_json::Value;

use super::event::{Response, ResponsesEvent, ResponsesUsage};
use super::{CALLED, SAID};
use crate::dialects::repaired;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::finish::{Finish, FinishFlags};

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct ResponsesAnswer {
    items: Vec<(Option<u64>, Item)>,
    /// Bytes of reasoning.
    thought: u64,
    usage: Usage,
    /// The finish reason.
    end: Option<(Finish, String)>,
    bytes: usize,
}

/// An item of the output.
#[derive(Debug)]
enum Item {
    Message(String),
    Called {
        name: String,
        arguments: String,
    },
    /// A reasoning item, unchanged; `None` until it is complete and encrypted.
    Thought(Option<Value>),
    /// Items of the server's own tools.
    Other,
}

impl StreamedAnswer for ResponsesAnswer {
    /// A single event ends the answer and contains everything else.
    const FAREWELL: Duration = Duration::ZERO;

    fn take(&mut self, data: &str) -> Result<AnswerPiece, AnswerError> {
        if data.trim() == "[DONE]" {
            return Ok(AnswerPiece::End);
        }
        let event: ResponsesEvent = serde_json::from_str(data).map_err(|error| {
            format!("an event is not a part of an answer ({})", plain_json(&error))
        })?;
        match event {
            ResponsesEvent::Added { output_index, item } => Ok(self.add(output_index, &item)),
            ResponsesEvent::Done { output_index, item } => Ok(self.complete(output_index, item)),
            ResponsesEvent::Text { output_index, delta } => {
                Ok(self.push_text(output_index, &delta))
            }
            ResponsesEvent::Arguments { output_index, delta } => {
                self.arguments(output_index)?.push_str(&delta);
                self.bytes += delta.len();
                Ok(if delta.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Unseen })
            }
            ResponsesEvent::AllArguments { output_index, arguments } => {
                self.bytes += replace(self.arguments(output_index)?, &arguments);
                Ok(AnswerPiece::Unseen)
            }
            ResponsesEvent::Thinking { delta } => {
                self.thought += delta.len() as u64;
                self.bytes += delta.len();
                Ok(if delta.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Unseen })
            }
            ResponsesEvent::End { response } => self.end(response),
            ResponsesEvent::Error(error) => Err(error.into()),
            ResponsesEvent::KeepAlive | ResponsesEvent::Other => Ok(AnswerPiece::KeepAlive),
        }
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn cut(&mut self) {
        self.end = Some((Finish::Truncated, "max_output_tokens".to_owned()));
    }

    fn finish(self) -> Result<CompleteAnswer, AnswerError> {
        let Some((finish, reason)) = self.end else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        let is_empty = self.items.iter().all(|(_, item)| match item {
            Item::Message(text) => text.is_empty(),
            Item::Called { .. } => false,
            Item::Thought(_) | Item::Other => true,
        });
        let ended = finish.ended(&reason, "", is_empty)?;
        let (mut text, mut calls, mut parts) = (String::new(), Vec::new(), Vec::new());
        for (_, item) in self.items {
            match item {
                Item::Message(more) => {
                    text.push_str(&more);
                    parts.push(Value::from(SAID));
                }
                Item::Called { name, arguments } => {
                    let arguments = repaired(&arguments, ended.text_end());
                    calls.push(ToolCall { name, arguments });
                    parts.push(Value::from(CALLED));
                }
                Item::Thought(thought) => parts.extend(thought),
                Item::Other => {}
            }
        }
        let reasoning = parts.iter().any(Value::is_object).then_some(Value::Array(parts));
        let (thought, usage) = (self.thought, self.usage);
        let FinishFlags { truncated, filtered } = ended;
        let cost = None;
        Ok(CompleteAnswer { text, calls, reasoning, thought, usage, cost, truncated, filtered })
    }

    fn take_whole(&mut self, body: &str) -> Result<(), AnswerError> {
        let response: Response = serde_json::from_str(body)
            .map_err(|error| format!("it is not an answer ({})", plain_json(&error)))?;
        self.end(response).map(drop)
    }
}

impl ResponsesAnswer {
    /// Begins an item.
    fn add(&mut self, index: Option<u64>, item: &Value) -> AnswerPiece {
        let kind = match item["type"].as_str().unwrap_or_default() {
            "message" => Item::Message(String::new()),
            "function_call" => {
                let name = item["name"].as_str().unwrap_or_default().to_owned();
                let mut arguments = String::new();
                self.bytes += name.len() + replace(&mut arguments, &item["arguments"]);
                Item::Called { name, arguments }
            }
            // A search that this program runs is a call of `use_tools`.
            "tool_search_call" if item["execution"] == "client" => {
                let mut arguments = String::new();
                self.bytes += USE_TOOLS.len() + replace(&mut arguments, &item["arguments"]);
                Item::Called { name: USE_TOOLS.to_owned(), arguments }
            }
            "reasoning" => Item::Thought(None),
            _ => Item::Other,
        };
        let is_alive = matches!(kind, Item::Called { .. });
        self.bytes += ITEM;
        self.items.push((index, kind));
        if is_alive { AnswerPiece::Unseen } else { AnswerPiece::KeepAlive }
    }

    /// Completes an item, and adds the data that its pieces lacked.
    fn complete(&mut self, index: Option<u64>, item: Value) -> AnswerPiece {
        let place = self.items.iter().rposition(|(found, _)| *found == index);
        let place = place.unwrap_or_else(|| {
            self.add(index, &item);
            self.items.len() - 1
        });
        match &mut self.items[place].1 {
            Item::Message(text) if text.is_empty() => {
                let all = said(&item);
                text.push_str(&all);
                self.bytes += all.len();
                shown(all)
            }
            Item::Called { arguments, .. } => {
                self.bytes += replace(arguments, &item["arguments"]);
                AnswerPiece::Unseen
            }
            Item::Thought(thought) => {
                self.bytes += item["encrypted_content"].as_str().map_or(0, str::len);
                *thought = item["encrypted_content"].is_string().then_some(item);
                AnswerPiece::Unseen
            }
            Item::Message(_) | Item::Other => AnswerPiece::KeepAlive,
        }
    }

    fn push_text(&mut self, index: Option<u64>, delta: &str) -> AnswerPiece {
        let is_said = |(found, item): &(Option<u64>, Item)| {
            matches!(item, Item::Message(_)) && (index.is_none() || *found == index)
        };
        let place = self.items.iter().rposition(is_said).unwrap_or_else(|| {
            self.items.push((index, Item::Message(String::new())));
            self.items.len() - 1
        });
        if let Item::Message(text) = &mut self.items[place].1 {
            text.push_str(delta);
            self.bytes += delta.len();
        }
        shown(delta.to_owned())
    }

    /// The arguments of the call with this index; of the last call if the index is missing.
    fn arguments(&mut self, index: Option<u64>) -> Result<&mut String, AnswerError> {
        let found = self.items.iter_mut().rev().find_map(|(found, item)| match item {
            Item::Called { arguments, .. } if index.is_none() || *found == index => Some(arguments),
            _ => None,
        });
        found.ok_or_else(|| "arguments belong to a call that has not begun".to_owned().into())
    }

    /// Processes the complete response. Its items are read only if none arrived separately.
    fn end(&mut self, response: Response) -> Result<AnswerPiece, AnswerError> {
        if let Some(ResponsesUsage { input_tokens, input_tokens_details, output_tokens }) =
            response.usage
        {
            let cached = input_tokens_details.cached_tokens;
            self.usage = Usage { cached, ..Usage::new(input_tokens, output_tokens) };
        }
        let mut text = String::new();
        if self.items.is_empty() {
            for (index, item) in (0..).zip(response.output) {
                if let AnswerPiece::Text(more) = self.complete(Some(index), item) {
                    text.push_str(&more);
                }
            }
        }
        self.end = Some(match response.status.as_deref() {
            Some("completed") => (Finish::Complete, String::new()),
            Some("incomplete") => {
                let reason = response.incomplete_details.unwrap_or_default().reason;
                (incomplete(&reason), reason)
            }
            _ => return Err(response.error.unwrap_or_default().into()),
        });
        Ok(if text.is_empty() { AnswerPiece::End } else { AnswerPiece::Text(text) })
    }
}

fn shown(text: String) -> AnswerPiece {
    if text.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Text(text) }
}

/// Translates the reason of an incomplete answer. An unknown reason means a failure, because the
/// answer is certainly incomplete.
fn incomplete(reason: &str) -> Finish {
    match reason {
        "max_output_tokens" | "max_tokens" | "length" => Finish::Truncated,
        "content_filter" => Finish::Filtered,
        _ => Finish::Failed,
    }
}

/// The text of a message, or its refusal.
fn said(message: &Value) -> String {
    let parts = message["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str())).collect()
}

/// Replaces the arguments by the complete ones. Returns the increase in bytes. They are a string
/// according to the API; some servers send the object itself.
fn replace(arguments: &mut String, all: &Value) -> usize {
    let before = arguments.len();
    match all {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => arguments.clone_from(text),
        other => *arguments = other.to_string(),
    }
    arguments.len().saturating_sub(before)
}
