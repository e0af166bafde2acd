//! An answer, put together from the events of its stream, or read whole from a server that does not
//! stream.

use avocet_protocol::{ModelReply, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::dialects::repaired;

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    text: String,
    calls: Vec<PartialCall>,
    usage: Usage,
    begun: bool,
    finish: Option<String>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
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
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
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
}

impl Answer {
    /// Takes the data of the next event. Returns the text that it adds.
    pub(super) fn take(&mut self, data: &str) -> Result<Option<String>, String> {
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|error| format!("an event is no chunk of an answer ({error})"))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let says = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
            return Err(format!("it failed in the middle: {says}"));
        }
        if let Some(WireUsage { prompt_tokens, completion_tokens }) = chunk.usage {
            self.usage = Usage { input: prompt_tokens, output: completion_tokens };
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(None) };
        for call in choice.delta.tool_calls.into_iter().flatten() {
            self.begun = true;
            self.take_call(call);
        }
        if choice.finish_reason.is_some() {
            self.finish = choice.finish_reason;
        }
        let added = choice.delta.content.filter(|text| !text.is_empty());
        if let Some(text) = &added {
            self.begun = true;
            self.text.push_str(text);
        }
        Ok(added)
    }

    /// The pieces of a call belong together by their index. Where a server leaves it out, a new id
    /// or name begins a new call.
    fn take_call(&mut self, piece: CallDelta) {
        let CallDelta { index, id, function: FunctionDelta { name, arguments } } = piece;
        let place = match index {
            Some(_) => self.calls.iter().position(|call| call.index == index),
            None => {
                let begins = id.is_some() || name.is_some();
                (!begins).then(|| self.calls.len().checked_sub(1)).flatten()
            }
        };
        let place = place.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        call.name.push_str(&name.unwrap_or_default());
        match arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
    }

    /// Whether anything of the answer itself has come.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// The whole answer, if it came to its end.
    pub(super) fn finish(self) -> Result<ModelReply, String> {
        let Some(finish) = self.finish else {
            return Err("the stream ended before the answer did".to_owned());
        };
        if finish == "content_filter" && self.text.is_empty() && self.calls.is_empty() {
            return Err("the provider's content filter held the answer back".to_owned());
        }
        let truncated = finish == "length";
        let calls = self.calls.into_iter().map(|PartialCall { name, arguments, .. }| ToolCall {
            name,
            arguments: repaired(&arguments, truncated),
        });
        Ok(ModelReply { text: self.text, calls: calls.collect(), usage: self.usage, truncated })
    }

    /// An answer that was not streamed.
    pub(super) fn whole(body: &str) -> Result<ModelReply, String> {
        let mut answer = Self::default();
        answer.take(body)?;
        answer.finish()
    }
}
