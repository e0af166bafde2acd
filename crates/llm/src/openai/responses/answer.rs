//! Builds an answer from the events of its stream (OpenAI API reference, "Streaming events"), or
//! from a complete body of a server without streaming. Every field is optional: see [`WireJson`].
//!
//! The last event repeats the whole answer, which fills the gaps that odd events have left.

use std::time::Duration;

use avocet_protocol::model::{Money, ToolCall, Usage};
use avocet_protocol::tool::USE_TOOLS;
use serde_json::Value;

use super::CALLED;
use super::phases::{keep_phase, phase_of_state, read_phase};
use crate::cost::read_cost;
use crate::dialects::repair_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::event::read_error;
use crate::finish::{FinishFlags, FinishReason};
use crate::openai::codes;
use crate::wire_json::WireJson;

/// The states of a response that has ended.
const END_STATUSES: [&str; 4] = ["cancelled", "completed", "failed", "incomplete"];

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct ResponsesAnswer {
    items: Vec<(Option<u64>, OutputItem)>,
    /// Bytes of reasoning.
    thought: u64,
    /// The reasoning that was not taken for display yet.
    new_thought: String,
    usage: Usage,
    cost: Option<Money>,
    end: Option<(FinishReason, String)>,
    /// `true` once the server has said that nothing follows, with or without a finish reason.
    is_over: bool,
    /// `true` if arguments came before their call.
    lacks_call: bool,
    bytes: usize,
}

#[derive(Debug)]
enum OutputItem {
    Message {
        text: String,
        phase: Option<String>,
    },
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

    fn take_event(&mut self, event: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        let index = event.get("output_index").read_count();
        let delta = event.get("delta").as_str().unwrap_or_default();
        match event.get("type").as_str().unwrap_or_default() {
            "response.output_item.added" => Ok(self.add_item(index, event.get("item"))),
            "response.output_item.done" => Ok(self.complete_item(index, event.get("item"))),
            "response.output_text.delta" | "response.refusal.delta" => {
                Ok(self.push_text(index, delta))
            }
            "response.function_call_arguments.delta" => {
                match self.arguments_of_call(index) {
                    Some(arguments) => {
                        arguments.push_str(delta);
                        self.bytes += delta.len();
                    }
                    None => self.lacks_call = true,
                }
                Ok(if delta.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Unseen })
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = self.arguments_of_call(index) {
                    self.bytes += replace_arguments(arguments, event.get("arguments"));
                }
                Ok(AnswerPiece::Unseen)
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.thought += delta.len() as u64;
                self.new_thought.push_str(delta);
                self.bytes += delta.len();
                Ok(if delta.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Unseen })
            }
            "response.reasoning_summary_part.added" => {
                if self.thought > 0 {
                    self.new_thought.push_str("\n\n");
                }
                Ok(AnswerPiece::KeepAlive)
            }
            kind => {
                // A body without streaming is the response itself.
                let nested = event.get("response");
                let response = if nested.is_object() { nested } else { event };
                match read_end(kind, response) {
                    Some(end) => self.end_with(end, response),
                    None => Ok(AnswerPiece::KeepAlive),
                }
            }
        }
    }

    fn take_thought(&mut self) -> String {
        std::mem::take(&mut self.new_thought)
    }

    fn end_answer(&mut self) {
        self.is_over = true;
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn cut_answer(&mut self) {
        self.end = Some((FinishReason::Truncated, "max_output_tokens".to_owned()));
    }

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        let has_call = self.items.iter().any(|(_, item)| matches!(item, OutputItem::Called { .. }));
        if self.lacks_call && !has_call {
            return Err("arguments belong to a call that has not begun".to_owned().into());
        }
        let is_empty = self.items.iter().all(|(_, item)| match item {
            OutputItem::Message { text, .. } => text.is_empty(),
            OutputItem::Called { .. } => false,
            OutputItem::Thought(_) | OutputItem::Other => true,
        });
        let (finish, reason) = match self.end {
            Some(end) => end,
            None if self.is_over && !is_empty => (FinishReason::Complete, String::new()),
            None => return Err("the stream ended before the answer did".to_owned().into()),
        };
        let ended = finish.evaluate_answer(&reason, "", is_empty)?;
        let (mut text, mut calls, mut parts) = (String::new(), Vec::new(), Vec::new());
        for (_, item) in self.items {
            match item {
                OutputItem::Message { text: more, phase } => {
                    text.push_str(&more);
                    parts.push(keep_phase(phase.as_deref()));
                }
                OutputItem::Called { name, arguments } => {
                    let arguments = repair_arguments(&arguments, ended.text_end());
                    calls.push(ToolCall { name, arguments });
                    parts.push(Value::from(CALLED));
                }
                OutputItem::Thought(thought) => parts.extend(thought),
                OutputItem::Other => {}
            }
        }
        let parts = Value::Array(parts);
        let has_state = parts.as_array().is_some_and(|parts| parts.iter().any(Value::is_object))
            || phase_of_state(&parts).is_some();
        let reasoning = has_state.then_some(parts);
        let (thought, usage) = (self.thought, self.usage);
        let FinishFlags { truncated, filtered } = ended;
        let cost = self.cost;
        Ok(CompleteAnswer { text, calls, reasoning, thought, usage, cost, truncated, filtered })
    }

    fn error_status(error: &Value) -> Option<u16> {
        Some(codes::of_error(error).unwrap_or(500))
    }
}

impl ResponsesAnswer {
    /// Begins an item.
    fn add_item(&mut self, index: Option<u64>, item: &WireJson<'_>) -> AnswerPiece {
        let kind = match item.get("type").as_str().unwrap_or_else(|| kind_of_untyped(item)) {
            "message" => {
                let phase = read_phase(item.get("phase").as_str()).map(str::to_owned);
                self.bytes += phase.as_ref().map_or(0, String::len);
                OutputItem::Message { text: String::new(), phase }
            }
            "function_call" => {
                let name = item.get("name").as_str().unwrap_or_default().to_owned();
                let mut arguments = String::new();
                self.bytes += name.len() + replace_arguments(&mut arguments, item.get("arguments"));
                OutputItem::Called { name, arguments }
            }
            // A search that this program runs is a call of `use_tools`.
            "tool_search_call" if item.get("execution").as_str() == Some("client") => {
                let mut arguments = String::new();
                self.bytes +=
                    USE_TOOLS.len() + replace_arguments(&mut arguments, item.get("arguments"));
                OutputItem::Called { name: USE_TOOLS.to_owned(), arguments }
            }
            "reasoning" => OutputItem::Thought(None),
            _ => OutputItem::Other,
        };
        let is_alive = matches!(kind, OutputItem::Called { .. });
        self.bytes += ITEM;
        self.items.push((index, kind));
        if is_alive { AnswerPiece::Unseen } else { AnswerPiece::KeepAlive }
    }

    /// Completes an item, and adds the data that its pieces lacked.
    fn complete_item(&mut self, index: Option<u64>, item: &WireJson<'_>) -> AnswerPiece {
        let place = self.place_of(index, item);
        let place = place.unwrap_or_else(|| {
            self.add_item(index, item);
            self.items.len() - 1
        });
        match &mut self.items[place].1 {
            OutputItem::Message { text, phase } => {
                if let Some(sent) = read_phase(item.get("phase").as_str()) {
                    *phase = Some(sent.to_owned());
                }
                let more = missing_end(text, &message_text(item)).to_owned();
                text.push_str(&more);
                self.bytes += more.len();
                piece_from_text(more)
            }
            OutputItem::Called { arguments, .. } => {
                self.bytes += replace_arguments(arguments, item.get("arguments"));
                AnswerPiece::Unseen
            }
            OutputItem::Thought(thought) => {
                let encrypted = item.get("encrypted_content").as_str();
                self.bytes += encrypted.map_or(0, str::len);
                // Without a stream, the summary comes with the item.
                if self.thought == 0 {
                    self.new_thought.push_str(&read_summary(item));
                }
                *thought = encrypted.map(|_| item.to_value());
                AnswerPiece::Unseen
            }
            OutputItem::Other => AnswerPiece::KeepAlive,
        }
    }

    /// Finds the item that a complete item ends: by its index, or by its content if one of the two
    /// lacks a readable index.
    fn place_of(&self, index: Option<u64>, item: &WireJson<'_>) -> Option<usize> {
        let all = message_text(item);
        let ours = |place: &usize| self.items[*place].1.is_of(item);
        let places = || (0..self.items.len()).filter(ours);
        let of_index = places().rfind(|place| index.is_some() && self.items[*place].0 == index);
        let has_no_index = |place: &usize| index.is_none() || self.items[*place].0.is_none();
        let known = |place: &usize| match &self.items[*place].1 {
            OutputItem::Message { text, .. } if all.starts_with(text.as_str()) => Some(text.len()),
            OutputItem::Message { .. } => None,
            _ => Some(0),
        };
        let without = places().filter(has_no_index).filter(|place| known(place).is_some());
        of_index.or_else(|| without.max_by_key(known))
    }

    /// Adds text to the message with this index. Without one, or if another item has it, the text
    /// belongs to the last message.
    fn push_text(&mut self, index: Option<u64>, delta: &str) -> AnswerPiece {
        let is_message = |item: &OutputItem| matches!(item, OutputItem::Message { .. });
        let of_index =
            |(found, item): &(Option<u64>, OutputItem)| is_message(item) && *found == index;
        let is_mistaken = index.is_none() || self.items.iter().any(|(found, _)| *found == index);
        let without = |(found, item): &(Option<u64>, OutputItem)| {
            is_message(item) && (is_mistaken || found.is_none())
        };
        let place = self.items.iter().rposition(of_index);
        let place = place.or_else(|| self.items.iter().rposition(without));
        let place = place.unwrap_or_else(|| {
            self.items.push((index, OutputItem::Message { text: String::new(), phase: None }));
            self.items.len() - 1
        });
        if let OutputItem::Message { text, .. } = &mut self.items[place].1 {
            text.push_str(delta);
            self.bytes += delta.len();
        }
        piece_from_text(delta.to_owned())
    }

    /// The arguments of the call with this index; of the last call if the index is missing.
    fn arguments_of_call(&mut self, index: Option<u64>) -> Option<&mut String> {
        self.items.iter_mut().rev().find_map(|(found, item)| match item {
            OutputItem::Called { arguments, .. } if index.is_none() || *found == index => {
                Some(arguments)
            }
            _ => None,
        })
    }

    /// Processes the complete response.
    ///
    /// # Errors
    /// The error in it.
    fn end_with(
        &mut self,
        end: (FinishReason, String),
        response: &WireJson<'_>,
    ) -> Result<AnswerPiece, AnswerError> {
        let usage = response.get("usage");
        let cached = usage.get("input_tokens_details").get("cached_tokens");
        let counts = [
            (&mut self.usage.input, usage.get("input_tokens")),
            (&mut self.usage.output, usage.get("output_tokens")),
            (&mut self.usage.cached, cached),
        ];
        for (count, field) in counts {
            *count = field.read_count().unwrap_or(*count);
        }
        let error = response.get("error");
        if error.has_content() {
            return Err(read_error::<Self>(&error.to_value()));
        }
        self.cost = read_cost(usage).or(self.cost);
        let text = self.fill_gaps(response.get("output"));
        self.end = Some(end);
        Ok(if text.is_empty() { AnswerPiece::End } else { AnswerPiece::Text(text) })
    }

    /// Adds what the items of the complete response have and the stream lacked. Returns the text.
    fn fill_gaps(&mut self, output: &WireJson<'_>) -> String {
        let output = output.read_list();
        let mut text = String::new();
        if self.items.is_empty() {
            for (index, item) in (0..).zip(output) {
                if let AnswerPiece::Text(more) = self.complete_item(Some(index), item) {
                    text.push_str(&more);
                }
            }
            return text;
        }
        let all: String = output.iter().map(message_text).collect();
        let messages = self.items.iter().filter_map(|(_, item)| match item {
            OutputItem::Message { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let ours: String = messages.collect();
        let more = missing_end(&ours, &all);
        if !more.is_empty() {
            self.push_text(None, more);
            text.push_str(more);
        }
        let is_call = |item: &&WireJson<'_>| item.get("type").as_str() == Some("function_call");
        let has_call = self.items.iter().any(|(_, item)| matches!(item, OutputItem::Called { .. }));
        for item in output.iter().filter(is_call).filter(|_| !has_call) {
            self.add_item(None, item);
        }
        text
    }
}

impl OutputItem {
    /// Returns `true` if an item of the wire has this kind.
    fn is_of(&self, item: &WireJson<'_>) -> bool {
        match item.get("type").as_str().unwrap_or_else(|| kind_of_untyped(item)) {
            "message" => matches!(self, Self::Message { .. }),
            "function_call" => matches!(self, Self::Called { .. }),
            "reasoning" => matches!(self, Self::Thought(_)),
            _ => matches!(self, Self::Called { .. } | Self::Other),
        }
    }
}

/// Reads the end of an answer from its complete response; `None` before the end.
fn read_end(kind: &str, response: &WireJson<'_>) -> Option<(FinishReason, String)> {
    let status = response.get("status").as_str();
    let status = status.filter(|status| END_STATUSES.contains(status));
    match status.or_else(|| kind.strip_prefix("response."))? {
        "completed" => Some((FinishReason::Complete, String::new())),
        "incomplete" => {
            let reason = response.get("incomplete_details").get("reason");
            let reason = reason.as_str().unwrap_or_default().to_owned();
            Some((finish_from_incomplete(&reason), reason))
        }
        "failed" | "cancelled" => Some((FinishReason::Failed, String::new())),
        _ => None,
    }
}

/// The part of a complete text that is missing at the end of ours.
fn missing_end<'t>(ours: &str, all: &'t str) -> &'t str {
    all.strip_prefix(ours).unwrap_or_default()
}

fn piece_from_text(text: String) -> AnswerPiece {
    if text.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Text(text) }
}

/// Translates the reason of an incomplete answer. An unknown reason means a failure, because the
/// answer is certainly incomplete.
fn finish_from_incomplete(reason: &str) -> FinishReason {
    match reason {
        "max_output_tokens" | "max_tokens" | "length" => FinishReason::Truncated,
        "content_filter" => FinishReason::Filtered,
        _ => FinishReason::Failed,
    }
}

/// The type of an item that lacks it.
fn kind_of_untyped(item: &WireJson<'_>) -> &'static str {
    if message_text(item).is_empty() { "" } else { "message" }
}

/// The text of a message, or its refusal.
fn message_text(message: &WireJson<'_>) -> String {
    let parts = message.get("content").read_list().iter();
    let text = |part: &WireJson<'_>| {
        let texts = [part, part.get("text"), part.get("refusal")];
        texts.into_iter().find_map(WireJson::as_str).unwrap_or_default().to_owned()
    };
    parts.map(text).collect()
}

/// The readable text of a reasoning item: its summary, or the reasoning itself.
fn read_summary(item: &WireJson<'_>) -> String {
    let parts = [item.get("summary"), item.get("content")];
    let parts = parts.into_iter().map(WireJson::read_list).find(|parts| !parts.is_empty());
    let texts = parts.into_iter().flatten().filter_map(|part| part.get("text").as_str());
    texts.collect::<Vec<&str>>().join("\n\n")
}

/// Replaces the arguments by the complete ones. Returns the increase in bytes. They are a string
/// according to the API; some servers send the object itself.
fn replace_arguments(arguments: &mut String, all: &WireJson<'_>) -> usize {
    let before = arguments.len();
    match all {
        WireJson::Null => {}
        WireJson::Text(text) if text.is_empty() => {}
        WireJson::Text(text) => text.as_ref().clone_into(arguments),
        other => *arguments = other.to_value().to_string(),
    }
    arguments.len().saturating_sub(before)
}
