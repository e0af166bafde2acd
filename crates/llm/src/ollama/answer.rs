//! Builds an answer from the lines of a stream (Ollama API, "Generate a chat completion"), or
//! from a complete body of a server without streaming. Every field is optional: see [`WireJson`].

use std::time::Duration;

use avocet_protocol::model::{ToolCall, Usage};
use serde_json::Value;

use crate::dialects::given_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::finish::FinishReason;
use crate::openai::codes;
use crate::wire_json::WireJson;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct OllamaAnswer {
    text: String,
    thinking: String,
    /// Bytes of `thinking` that were taken for display.
    shown: usize,
    calls: Vec<CalledFunction>,
    usage: Usage,
    /// The finish reason; `None` until the last line.
    done: Option<String>,
    /// `true` if the last line has said that more lines follow.
    has_more: bool,
    bytes: usize,
}

#[derive(Debug)]
struct CalledFunction {
    name: String,
    /// An object; a string on some Ollama-compatible servers.
    arguments: Value,
}

impl StreamedAnswer for OllamaAnswer {
    /// The last line ends the answer and contains the usage. Some servers mark a line before it as
    /// the last one, too.
    const FAREWELL: Duration = Duration::from_secs(2);
    const ENDS_OFTEN: bool = false;

    fn take_event(&mut self, line: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        let message = line.get("message");
        // The form of `/api/generate`, from some gateways.
        let content = message.get("content").read_text();
        let content = content.or_else(|| line.get("response").read_text()).unwrap_or_default();
        let thinking = message.get("thinking").as_str().unwrap_or_default();
        let calls = self.take_calls(message.get("tool_calls"));
        self.bytes += content.len() + thinking.len();
        self.text.push_str(&content);
        self.thinking.push_str(thinking);
        let counts = [
            (&mut self.usage.input, line.get("prompt_eval_count")),
            (&mut self.usage.output, line.get("eval_count")),
        ];
        for (count, field) in counts {
            *count = field.read_count().unwrap_or(*count);
        }
        let is_last = is_last(line);
        self.has_more = *line.get("done") == WireJson::Bool(false);
        if is_last {
            let reason = line.get("done_reason").as_str().filter(|reason| !reason.is_empty());
            self.done = Some(reason.unwrap_or("stop").to_owned());
        }
        Ok(if !content.is_empty() {
            AnswerPiece::Text(content.into_owned())
        } else if is_last || !thinking.is_empty() || calls > 0 {
            AnswerPiece::Unseen
        } else {
            AnswerPiece::KeepAlive
        })
    }

    fn take_thought(&mut self) -> String {
        let from = std::mem::replace(&mut self.shown, self.thinking.len());
        self.thinking[from..].to_owned()
    }

    fn end_answer(&mut self) {
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        if !self.has_more && !is_empty {
            self.done.get_or_insert_with(|| "stop".to_owned());
        }
    }

    /// Errors have no status.
    fn error_status(error: &Value) -> Option<u16> {
        Some(codes::of_error(error).unwrap_or(500))
    }

    fn has_ended(&self) -> bool {
        self.done.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn cut_answer(&mut self) {
        self.done = Some("length".to_owned());
    }

    fn lone_thought(&self) -> Option<&str> {
        let is_empty = self.text.trim().is_empty() && self.calls.is_empty();
        Some(self.thinking.as_str()).filter(|thought| is_empty && !thought.trim().is_empty())
    }

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        let Some(reason) = self.done else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        if matches!(reason.as_str(), "load" | "unload") {
            return Err(format!("the model was not asked ({reason})").into());
        }
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        let ended = finish_from_done_reason(&reason).evaluate_answer(&reason, "", is_empty)?;
        let thought = self.thinking.len() as u64;
        let keeps = !self.calls.is_empty() && thought > 0;
        let call = |CalledFunction { name, arguments }| ToolCall {
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

impl OllamaAnswer {
    /// Reads calls. Returns their number.
    fn take_calls(&mut self, calls: &WireJson<'_>) -> usize {
        let before = self.calls.len();
        for call in calls.read_list() {
            let nested = call.get("function");
            let function = if nested.is_object() { nested } else { call };
            let Some(name) = function.get("name").as_str() else { continue };
            let arguments = function.get("arguments").to_value();
            self.bytes += ITEM + name.len() + arguments.to_string().len();
            self.calls.push(CalledFunction { name: name.to_owned(), arguments });
        }
        self.calls.len() - before
    }
}

/// Returns `true` for the line that ends an answer: only it has a reason and these figures.
fn is_last(line: &WireJson<'_>) -> bool {
    let has_figures = || {
        ["done_reason", "total_duration", "eval_count", "eval_duration"]
            .iter()
            .any(|key| line.get(key).has_content())
    };
    match line.get("done") {
        WireJson::Bool(is_last) => *is_last,
        done => done.is_true() || has_figures(),
    }
}

/// Translates `done_reason`. It is missing or empty on old servers.
fn finish_from_done_reason(reason: &str) -> FinishReason {
    match reason {
        "stop" | "tool_calls" | "" => FinishReason::Complete,
        "length" => FinishReason::Truncated,
        _ => FinishReason::Unknown,
    }
}
