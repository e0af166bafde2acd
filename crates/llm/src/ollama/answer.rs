//! Builds an answer from the lines of a stream (Ollama API, "Generate a chat completion"), or
//! from a complete body of a server without streaming.

use std::time::Duration;

use avocet_protocol::{ToolCall, Usage, plain_json};
use serde::Deserialize;
use serde_json::Value;

use crate::dialects::given_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, Framing, ITEM, StreamedAnswer};
use crate::finish::Finish;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct OllamaAnswer {
    text: String,
    thinking: String,
    calls: Vec<Function>,
    usage: Usage,
    /// The finish reason; `None` until the last line.
    done: Option<String>,
    bytes: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaLine {
    message: OllamaAnswerMessage,
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: u64,
    eval_count: u64,
    /// An error message, always without a status.
    error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaAnswerMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<OllamaCall>>,
}

#[derive(Debug, Deserialize)]
struct OllamaCall {
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    /// An object; a string on some Ollama-compatible servers.
    #[serde(default)]
    arguments: Value,
}

impl StreamedAnswer for OllamaAnswer {
    const FRAMING: Framing = Framing::Lines;
    /// The last line ends the answer and contains the usage.
    const FAREWELL: Duration = Duration::ZERO;

    fn take(&mut self, data: &str) -> Result<AnswerPiece, AnswerError> {
        let line: OllamaLine = serde_json::from_str(data).map_err(|error| {
            format!("a line is not a part of an answer ({})", plain_json(&error))
        })?;
        if let Some(error) = line.error {
            return Err(AnswerError::Status(500, error));
        }
        let OllamaAnswerMessage { content, thinking, tool_calls } = line.message;
        let (content, thinking) = (content.unwrap_or_default(), thinking.unwrap_or_default());
        let calls = tool_calls.unwrap_or_default();
        let is_alive = !thinking.is_empty() || !calls.is_empty();
        for OllamaCall { function } in calls {
            self.bytes += ITEM + function.name.len() + function.arguments.to_string().len();
            self.calls.push(function);
        }
        self.bytes += content.len() + thinking.len();
        self.text.push_str(&content);
        self.thinking.push_str(&thinking);
        if line.done {
            self.usage = Usage::new(line.prompt_eval_count, line.eval_count);
            self.done = Some(line.done_reason.unwrap_or_else(|| "stop".to_owned()));
        }
        Ok(if !content.is_empty() {
            AnswerPiece::Text(content)
        } else if line.done {
            AnswerPiece::End
        } else if is_alive {
            AnswerPiece::Unseen
        } else {
            AnswerPiece::KeepAlive
        })
    }

    fn has_ended(&self) -> bool {
        self.done.is_some()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn cut(&mut self) {
        self.done = Some("length".to_owned());
    }

    fn finish(self) -> Result<CompleteAnswer, AnswerError> {
        let Some(reason) = self.done else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        if matches!(reason.as_str(), "load" | "unload") {
            return Err(format!("the model was not asked ({reason})").into());
        }
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        let ended = finish(&reason).ended(&reason, "", is_empty)?;
        let thought = self.thinking.len() as u64;
        let keeps = !self.calls.is_empty() && thought > 0;
        let call = |Function { name, arguments }| ToolCall {
            name,
            arguments: given_arguments(&arguments, ended.text_end()),
        };
        Ok(CompleteAnswer {
            text: self.text,
            calls: self.calls.into_iter().map(call).collect(),
            reasoning: keeps.then_some(Value::String(self.thinking)),
            thought,
            usage: self.usage,
            cost: None,
            truncated: ended.truncated,
            filtered: ended.filtered,
        })
    }
}

/// Translates `done_reason`. It is missing or empty on old servers.
fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "tool_calls" | "" => Finish::Complete,
        "length" => Finish::Truncated,
        _ => Finish::Unknown,
    }
}
