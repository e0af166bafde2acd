//! An answer, put together from the events of its stream, or read whole from a server that does not
//! stream.

use avocet_protocol::{ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::codes;
use crate::asking::{Answer, Fault, Piece, Said};
use crate::dialects::repaired;

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub(crate) struct PartialAnswer {
    text: String,
    calls: Vec<PartialCall>,
    usage: Usage,
    begun: bool,
    finish: Option<String>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    /// `message` where the answer is not streamed.
    #[serde(alias = "message", default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta {
    /// A string by the book; from some servers a list of parts.
    content: Option<Content>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Value>),
}

#[derive(Debug, Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    #[serde(default)]
    function: FunctionDelta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionDelta {
    name: Option<String>,
    /// A string by the book; some servers send the object itself.
    arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<InputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: u64,
}

impl Answer for PartialAnswer {
    fn take(&mut self, data: &str) -> Result<Piece, Fault> {
        if data.trim() == "[DONE]" {
            return Ok(Piece::End);
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|error| format!("an event is no chunk of an answer ({error})"))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(failed(&error));
        }
        if let Some(WireUsage { prompt_tokens, completion_tokens, prompt_tokens_details }) =
            chunk.usage
        {
            let cached = prompt_tokens_details.unwrap_or_default().cached_tokens;
            self.usage = Usage { cached, ..Usage::new(prompt_tokens, completion_tokens) };
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(Piece::Nothing) };
        for call in choice.delta.tool_calls.into_iter().flatten() {
            self.begun = true;
            self.take_call(call);
        }
        // Some servers have an empty one in every chunk.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
        }
        match choice.delta.content.map(Content::text).filter(|text| !text.is_empty()) {
            Some(text) => {
                self.begun = true;
                self.text.push_str(&text);
                Ok(Piece::Text(text))
            }
            None => Ok(Piece::Nothing),
        }
    }

    fn has_begun(&self) -> bool {
        self.begun
    }

    fn finish(self) -> Result<Said, Fault> {
        let Some(finish) = self.finish else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        let filtered = finish == "content_filter";
        if filtered && self.text.is_empty() && self.calls.is_empty() {
            let detail = "the provider's content filter held the answer back".to_owned();
            return Err(Fault::Declined(detail));
        }
        let truncated = finish == "length";
        let calls = self.calls.into_iter().map(|PartialCall { name, arguments, .. }| ToolCall {
            name,
            arguments: repaired(&arguments, truncated || filtered),
        });
        Ok(Said {
            text: self.text,
            calls: calls.collect(),
            reasoning: None,
            usage: self.usage,
            truncated,
            filtered,
        })
    }

    fn whole(body: &str) -> Result<Said, Fault> {
        let mut answer = Self::default();
        answer.take(body)?;
        answer.finish()
    }
}

/// An error in the middle of a stream.
fn failed(error: &Value) -> Fault {
    let says = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    match codes::of_error(error) {
        Some(status) => Fault::Status(status, says),
        None => Fault::Unreadable(format!("it failed in the middle: {says}")),
    }
}

impl PartialAnswer {
    /// The pieces of a call belong together by their index; where a server leaves it out, by their id.
    /// Where there is neither, a name begins a new call.
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
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        if !id.is_empty() {
            call.id = id;
        }
        // Some servers repeat it in every piece.
        if name != call.name {
            call.name.push_str(&name);
        }
        match arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
    }
}

impl PartialCall {
    /// Whether a piece in its place is of another call all the same: some servers give all calls one
    /// index. It is not by a new id alone, which some servers make for every piece.
    fn ends_before(&self, id: &str, name: &str) -> bool {
        let is_other =
            |ours: &str, other: &str| !ours.is_empty() && !other.is_empty() && ours != other;
        let has_arguments = !self.arguments.is_empty();
        !name.is_empty() && is_other(&self.id, id) || has_arguments && is_other(&self.name, name)
    }
}

impl Content {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text");
                texts.filter_map(|part| part["text"].as_str()).collect()
            }
        }
    }
}
