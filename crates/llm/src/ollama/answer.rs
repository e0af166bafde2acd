//! An answer, put together from the lines of its stream (Ollama API, "Generate a chat completion"), or
//! read whole from a server that does not stream.

use avocet_protocol::{ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::asking::{Answer, Fault, Framing, Piece, Said};
use crate::dialects::given_arguments;

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub(super) struct PartialAnswer {
    text: String,
    thinking: String,
    calls: Vec<Function>,
    usage: Usage,
    begun: bool,
    /// Why it ended.
    done: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    message: Message,
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: u64,
    eval_count: u64,
    /// No line says which status it would have been.
    error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Debug, Deserialize)]
struct Call {
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    /// An object; a string on some servers that stand in for Ollama.
    #[serde(default)]
    arguments: Value,
}

impl Answer for PartialAnswer {
    const FRAMING: Framing = Framing::Lines;

    fn take(&mut self, data: &str) -> Result<Piece, Fault> {
        let line: Line = serde_json::from_str(data)
            .map_err(|error| format!("a line is no part of an answer ({error})"))?;
        if let Some(error) = line.error {
            return Err(Fault::Status(500, error));
        }
        let Message { content, thinking, tool_calls } = line.message;
        let (content, thinking) = (content.unwrap_or_default(), thinking.unwrap_or_default());
        self.calls.extend(tool_calls.into_iter().flatten().map(|call| call.function));
        self.text.push_str(&content);
        self.thinking.push_str(&thinking);
        self.begun |= !(content.is_empty() && thinking.is_empty() && self.calls.is_empty());
        if line.done {
            self.usage = Usage::new(line.prompt_eval_count, line.eval_count);
            self.done = Some(line.done_reason.unwrap_or_else(|| "stop".to_owned()));
        }
        Ok(match content.is_empty() {
            false => Piece::Text(content),
            true if line.done => Piece::End,
            true => Piece::Nothing,
        })
    }

    fn has_begun(&self) -> bool {
        self.begun
    }

    fn finish(self) -> Result<Said, Fault> {
        let Some(reason) = self.done else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        if matches!(reason.as_str(), "load" | "unload") {
            return Err(format!("the model was not asked ({reason})").into());
        }
        let thought = !self.calls.is_empty() && !self.thinking.is_empty();
        let truncated = reason == "length";
        let call = |Function { name, arguments }| ToolCall {
            name,
            arguments: given_arguments(&arguments, truncated),
        };
        Ok(Said {
            text: self.text,
            calls: self.calls.into_iter().map(call).collect(),
            reasoning: thought.then_some(Value::String(self.thinking)),
            usage: self.usage,
            truncated,
            filtered: false,
        })
    }

    fn whole(body: &str) -> Result<Said, Fault> {
        let mut answer = Self::default();
        answer.take(body)?;
        answer.finish()
    }
}
