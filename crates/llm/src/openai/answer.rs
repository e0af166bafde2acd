//! Builds an answer from the events of its stream, or from a complete body of a server without
//! streaming.

use avocet_protocol::{ToolCall, Usage, plain_json};
use serde::Deserialize;
use serde_json::Value;

use super::codes;
use crate::dialects::repaired;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::finish::Finish;
use crate::null::or_default;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct OpenAiChatAnswer {
    text: String,
    calls: Vec<PartialCall>,
    /// Bytes of reasoning.
    thought: u64,
    usage: Usage,
    finish: Option<String>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAiChatChunk {
    #[serde(deserialize_with = "or_default")]
    choices: Vec<Choice>,
    usage: Option<OpenAiChatUsage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    /// Called `message` in an answer without streaming.
    #[serde(alias = "message", default, deserialize_with = "or_default")]
    delta: OpenAiChatDelta,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAiChatDelta {
    /// A string according to the API; a list of parts from some servers.
    content: Option<DeltaContent>,
    tool_calls: Option<Vec<CallDelta>>,
    /// Reasoning, under the most common name.
    reasoning_content: Option<Value>,
    /// Reasoning, under the other name.
    reasoning: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DeltaContent {
    Text(String),
    Parts(Vec<Value>),
}

#[derive(Debug, Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    function: FunctionDelta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionDelta {
    name: Option<String>,
    /// A string according to the API; some servers send the object itself.
    arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAiChatUsage {
    #[serde(deserialize_with = "or_default")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    completion_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    prompt_tokens_details: InputDetails,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
}

impl StreamedAnswer for OpenAiChatAnswer {
    fn take(&mut self, data: &str) -> Result<AnswerPiece, AnswerError> {
        if data.trim() == "[DONE]" {
            return Ok(AnswerPiece::End);
        }
        let chunk: OpenAiChatChunk = serde_json::from_str(data).map_err(|error| {
            format!("an event is not a chunk of an answer ({})", plain_json(&error))
        })?;
        if let Some(error) = chunk.error {
            return Err(failed(&error));
        }
        if let Some(OpenAiChatUsage { prompt_tokens, completion_tokens, prompt_tokens_details }) =
            chunk.usage
        {
            let InputDetails { cached_tokens: cached } = prompt_tokens_details;
            self.usage = Usage { cached, ..Usage::new(prompt_tokens, completion_tokens) };
        }
        let Some(choice) = chunk.choices.into_iter().next() else {
            return Ok(AnswerPiece::KeepAlive);
        };
        // Some servers send an empty reason in every chunk.
        let finish = choice.finish_reason.filter(|reason| !reason.is_empty());
        let has_ended = finish.is_some();
        self.finish = finish.or(self.finish.take());
        Ok(match self.take_delta(choice.delta) {
            AnswerPiece::KeepAlive if has_ended => AnswerPiece::Unseen,
            piece => piece,
        })
    }

    fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn cut(&mut self) {
        self.finish = Some("length".to_owned());
    }

    fn finish(self) -> Result<CompleteAnswer, AnswerError> {
        let Some(reason) = self.finish else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        let ended = finish(&reason).ended(&reason, "", is_empty)?;
        let calls = self.calls.into_iter().map(|PartialCall { name, arguments, .. }| ToolCall {
            name,
            arguments: repaired(&arguments, ended.text_end()),
        });
        Ok(CompleteAnswer {
            text: self.text,
            calls: calls.collect(),
            reasoning: None,
            thought: self.thought,
            usage: self.usage,
            truncated: ended.truncated,
            filtered: ended.filtered,
        })
    }
}

/// Translates `finish_reason`, from OpenAI and from servers that pass on the word of their engine.
fn finish(reason: &str) -> Finish {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "tool_calls" | "function_call" | "tool_use" | "end_turn" | "stop_sequence"
        | "eos" | "eos_token" | "complete" | "completed" | "done" => Finish::Complete,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => Finish::Truncated,
        "content_filter" | "safety" | "recitation" | "refusal" | "sensitive" => Finish::Filtered,
        "error"
        | "failed"
        | "abort"
        | "cancelled"
        | "network_error"
        | "insufficient_system_resource"
        | "malformed_function_call" => Finish::Failed,
        _ => Finish::Unknown,
    }
}

/// Converts an error in the middle of a stream.
fn failed(error: &Value) -> AnswerError {
    let says = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    match codes::of_error(error) {
        Some(status) => AnswerError::Status(status, says),
        None => AnswerError::Unreadable(format!("it failed in the middle: {says}")),
    }
}

impl OpenAiChatAnswer {
    fn take_delta(&mut self, delta: OpenAiChatDelta) -> AnswerPiece {
        let thoughts = [delta.reasoning_content, delta.reasoning].into_iter().flatten();
        // Some servers send it under both names.
        let thought = thoughts.filter_map(|thought| thought.as_str().map(str::len)).max();
        let (text, parts) = delta.content.map(DeltaContent::read).unwrap_or_default();
        let calls = delta.tool_calls.unwrap_or_default();
        let thought = thought.unwrap_or_default() + parts;
        let is_alive = thought > 0 || !calls.is_empty();
        self.thought += thought as u64;
        self.bytes += text.len() + thought;
        calls.into_iter().for_each(|call| self.take_call(call));
        self.text.push_str(&text);
        if !text.is_empty() {
            AnswerPiece::Text(text)
        } else if is_alive {
            AnswerPiece::Unseen
        } else {
            AnswerPiece::KeepAlive
        }
    }

    /// Assigns a piece to its call: by index, or by id if the index is missing. If both are
    /// missing, a name begins a new call.
    fn take_call(&mut self, piece: CallDelta) {
        let CallDelta { index, id, function: FunctionDelta { name, arguments } } = piece;
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        let place = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        let place = place.filter(|place| !self.calls[*place].ends_before(&id, &name));
        let place = place.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.bytes += ITEM;
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        let before = call.bytes();
        if !id.is_empty() {
            call.id = id;
        }
        // Some servers repeat the name in every piece.
        if name != call.name {
            call.name.push_str(&name);
        }
        match arguments {
            None => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
        self.bytes += call.bytes().saturating_sub(before);
    }
}

impl PartialCall {
    fn bytes(&self) -> usize {
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

impl DeltaContent {
    /// The text, and the bytes of reasoning beside it.
    fn read(self) -> (String, usize) {
        match self {
            Self::Text(text) => (text, 0),
            Self::Parts(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text");
                let text = texts.filter_map(|part| part["text"].as_str()).collect();
                let thoughts =
                    parts.iter().filter_map(|part| part["thinking"].as_array()).flatten();
                let bytes = thoughts.filter_map(|thought| Some(thought["text"].as_str()?.len()));
                (text, bytes.sum())
            }
        }
    }
}
