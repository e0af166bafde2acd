//! Builds an answer from the events of its stream, or from a complete body of a server without
//! streaming. Every field is optional: see [`WireJson`].

use std::borrow::Cow;

use avocet_protocol::model::{Money, ToolCall, Usage};

use super::state::{AddedState, ArrivingState, has_call_state};
use crate::cost::read_cost;
use crate::dialects::repair_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::event::read_error;
use crate::finish::FinishReason;
use crate::wire_json::WireJson;

/// The index of a call in the form of 2023, `function_call`, of which an answer has at most one.
const LEGACY_CALL: u64 = u64::MAX;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct OpenAiChatAnswer {
    text: String,
    calls: Vec<PartialCall>,
    /// Bytes of reasoning.
    thought: u64,
    state: ArrivingState,
    usage: Usage,
    cost: Option<Money>,
    finish: Option<String>,
    /// `true` once the server has said that nothing follows, with or without a finish reason.
    is_over: bool,
    bytes: usize,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl StreamedAnswer for OpenAiChatAnswer {
    fn take_event(&mut self, chunk: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        self.take_usage(chunk.get("usage"));
        let mut choices = chunk.get("choices").read_list().iter();
        let Some(choice) = choices.find(|choice| is_first_choice(choice)) else {
            return Ok(AnswerPiece::KeepAlive);
        };
        // OpenRouter reports the error of a provider here.
        let error = choice.get("error");
        if error.has_content() {
            return Err(read_error::<Self>(&error.to_value()));
        }
        // Some servers report the usage here.
        self.take_usage(choice.get("usage"));
        // Some servers send an empty reason in every chunk.
        let finish = choice.get("finish_reason").read_reason();
        let has_finish = finish.is_some();
        self.finish = finish.map(Cow::into_owned).or(self.finish.take());
        Ok(match self.take_choice(choice) {
            AnswerPiece::KeepAlive if has_finish => AnswerPiece::Unseen,
            piece => piece,
        })
    }

    fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn cut_answer(&mut self) {
        self.finish = Some("length".to_owned());
    }

    fn take_thought(&mut self) -> String {
        self.state.take_thought()
    }

    fn end_answer(&mut self) {
        self.is_over = true;
    }

    fn lone_thought(&self) -> Option<&str> {
        let is_empty = self.text.trim().is_empty() && self.calls.is_empty();
        self.state.readable_thought().filter(|_| is_empty)
    }

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        let (reason, finish) = match &self.finish {
            Some(reason) => (reason.as_str(), finish_from_reason(reason)),
            None if self.is_over && !is_empty => ("", FinishReason::Complete),
            None => return Err("the stream ended before the answer did".to_owned().into()),
        };
        let ended = finish.evaluate_answer(reason, "", is_empty)?;
        let reasoning = self.state.into_content(self.calls.len());
        let calls = self.calls.into_iter().map(|PartialCall { name, arguments, .. }| ToolCall {
            name,
            arguments: repair_arguments(&arguments, ended.text_end()),
        });
        Ok(CompleteAnswer {
            text: self.text,
            calls: calls.collect(),
            reasoning,
            thought: self.thought,
            usage: self.usage,
            cost: self.cost,
            truncated: ended.truncated,
            filtered: ended.filtered,
        })
    }
}

/// Returns `true` for the choice that is the answer. Other choices are other answers.
fn is_first_choice(choice: &WireJson<'_>) -> bool {
    choice.is_object() && choice.get("index").read_count().unwrap_or_default() == 0
}

/// Translates `finish_reason`, from OpenAI and from servers that pass on the word of their engine.
fn finish_from_reason(reason: &str) -> FinishReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "tool_calls" | "function_call" | "tool_use" | "end_turn" | "stop_sequence"
        | "eos" | "eos_token" | "complete" | "completed" | "done" => FinishReason::Complete,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => FinishReason::Truncated,
        "content_filter" | "safety" | "recitation" | "refusal" | "sensitive" => {
            FinishReason::Filtered
        }
        "error"
        | "failed"
        | "abort"
        | "cancelled"
        | "network_error"
        | "insufficient_system_resource"
        | "malformed_function_call" => FinishReason::Failed,
        _ => FinishReason::Unknown,
    }
}

impl OpenAiChatAnswer {
    /// Reads the token counts. A count that cannot be read leaves the one before it.
    fn take_usage(&mut self, usage: &WireJson<'_>) {
        let cached = usage.get("prompt_tokens_details").get("cached_tokens");
        let counts = [
            (&mut self.usage.input, usage.get("prompt_tokens")),
            (&mut self.usage.output, usage.get("completion_tokens")),
            (&mut self.usage.cached, cached),
        ];
        for (count, field) in counts {
            *count = field.read_count().unwrap_or(*count);
        }
        self.cost = read_cost(usage).or(self.cost);
    }

    /// Reads the piece of a choice. An answer without streaming has it in `message`. In a stream,
    /// `message` repeats what the pieces have said.
    fn take_choice(&mut self, choice: &WireJson<'_>) -> AnswerPiece {
        let mut piece = self.take_delta(choice.get("delta"));
        if self.is_empty() {
            piece = self.take_delta(choice.get("message"));
        }
        // The form of text completions.
        if piece == AnswerPiece::KeepAlive
            && let Some(text) = choice.get("text").as_str().filter(|text| !text.is_empty())
        {
            self.bytes += text.len();
            self.text.push_str(text);
            piece = AnswerPiece::Text(text.to_owned());
        }
        piece
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.thought == 0
    }

    fn take_delta(&mut self, delta: &WireJson<'_>) -> AnswerPiece {
        let (mut text, in_parts) = read_content(delta.get("content"));
        // A refusal is the answer (OpenAI API reference, "Chat completion chunk").
        text.push_str(&delta.get("refusal").read_text().unwrap_or_default());
        let AddedState { thought, kept } = self.state.add_delta(delta);
        let thought = thought + in_parts.len();
        self.state.add_thought(&in_parts);
        self.thought += thought as u64;
        self.bytes += text.len() + kept + in_parts.len();
        let has_call = self.take_calls(delta);
        self.text.push_str(&text);
        if !text.is_empty() {
            AnswerPiece::Text(text)
        } else if thought > 0 || has_call {
            AnswerPiece::Unseen
        } else {
            AnswerPiece::KeepAlive
        }
    }

    /// Reads the pieces of calls. Returns `true` if there is one.
    fn take_calls(&mut self, delta: &WireJson<'_>) -> bool {
        let before = self.bytes;
        for piece in delta.get("tool_calls").read_list() {
            self.take_call(piece.get("index").read_count(), piece);
        }
        let legacy = delta.get("function_call");
        let has_other = self.calls.iter().any(|call| call.index != Some(LEGACY_CALL));
        if !has_other {
            self.take_call(Some(LEGACY_CALL), legacy);
        }
        self.bytes > before
    }

    /// Assigns a piece to its call: by index, or by id if the index is missing. If both are
    /// missing, a name begins a new call.
    fn take_call(&mut self, index: Option<u64>, piece: &WireJson<'_>) {
        let nested = piece.get("function");
        let function = if nested.is_object() { nested } else { piece };
        let id = piece.get("id").read_text().unwrap_or_default();
        let name = function.get("name").as_str().unwrap_or_default();
        let arguments = read_arguments(function.get("arguments"));
        let is_empty = id.is_empty() && name.is_empty() && arguments.is_empty();
        if is_empty && !has_call_state(piece) {
            return;
        }
        let place = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        let place = place.filter(|place| !self.calls[*place].ends_before(&id, name));
        // A state belongs to a call that has begun.
        if is_empty && place.is_none() {
            return;
        }
        let place = place.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.bytes += ITEM;
            self.calls.len() - 1
        });
        self.bytes += self.state.add_call(place, piece);
        let call = &mut self.calls[place];
        let before = call.count_bytes();
        if !id.is_empty() {
            call.id = id.into_owned();
        }
        // Some servers repeat the name in every piece.
        if name != call.name {
            call.name.push_str(name);
        }
        call.arguments.push_str(&arguments);
        self.bytes += call.count_bytes().saturating_sub(before);
    }
}

impl PartialCall {
    fn count_bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.arguments.len()
    }

    /// Returns `true` if a piece with the same index belongs to another call: some servers give all
    /// calls one index. A new id alone proves nothing, because some servers make one for every
    /// piece.
    fn ends_before(&self, id: &str, name: &str) -> bool {
        let is_other =
            |ours: &str, other: &str| !ours.is_empty() && !other.is_empty() && ours != other;
        let has_arguments = !self.arguments.is_empty();
        !name.is_empty() && is_other(&self.id, id) || has_arguments && is_other(&self.name, name)
    }
}

/// Returns the arguments of a call, or a piece of them. They are a string according to the API; some
/// servers send the object itself.
fn read_arguments<'j>(arguments: &'j WireJson<'_>) -> Cow<'j, str> {
    match arguments {
        WireJson::Null => Cow::Borrowed(""),
        WireJson::Text(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_value().to_string()),
    }
}

/// Returns the text of a content, and the reasoning within. It is a string according to the
/// API; a list of parts, or a single part, from some servers.
fn read_content(content: &WireJson<'_>) -> (String, String) {
    if let Some(text) = content.read_text() {
        return (text.into_owned(), String::new());
    }
    let (mut text, mut thought) = (String::new(), String::new());
    for part in content.read_list() {
        text.push_str(&part.read_text().unwrap_or_default());
        if matches!(part.get("type").as_str(), Some("text" | "output_text") | None) {
            text.push_str(part.get("text").as_str().unwrap_or_default());
        }
        text.push_str(part.get("refusal").as_str().unwrap_or_default());
        let thoughts = part.get("thinking").read_list().iter();
        thought.extend(thoughts.filter_map(|thought| thought.get("text").as_str()));
    }
    (text, thought)
}
