//! What comes over a stream (OpenAI API reference, "Streaming events"), as far as it matters.

use serde::Deserialize;
use serde_json::Value;

use crate::asking::Fault;
use crate::openai::codes::status;

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Event {
    #[serde(rename = "response.output_item.added")]
    Added { output_index: Option<u64>, item: Value },
    #[serde(rename = "response.output_item.done")]
    Done { output_index: Option<u64>, item: Value },
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Text { output_index: Option<u64>, delta: String },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { output_index: Option<u64>, delta: String },
    #[serde(rename = "response.function_call_arguments.done")]
    AllArguments { output_index: Option<u64>, arguments: Value },
    #[serde(
        rename = "response.reasoning_text.delta",
        alias = "response.reasoning_summary_text.delta"
    )]
    Thinking { delta: String },
    #[serde(
        rename = "response.completed",
        alias = "response.incomplete",
        alias = "response.failed"
    )]
    End { response: Response },
    #[serde(rename = "error")]
    Error(WireError),
    #[serde(rename = "keepalive")]
    KeepAlive,
    /// Beginnings and ends of parts, and whatever else may come to be.
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) status: Option<String>,
    pub(super) output: Vec<Value>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<WireError>,
    pub(super) incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete {
    pub(super) reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) input_tokens: u64,
    pub(super) input_tokens_details: Option<InputDetails>,
    pub(super) output_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: u64,
}

/// Some servers put it into another `error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireError {
    code: Value,
    message: Option<String>,
    error: Option<Box<WireError>>,
}

/// An error in the middle of a stream means what its status would have meant at the beginning.
impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        let WireError { code, message, error } = error;
        if let Some(error) = error {
            return (*error).into();
        }
        let code = code.as_str().unwrap_or_default();
        let status = status(code).unwrap_or(500);
        let message = message.filter(|message| !message.is_empty());
        Self::Status(status, message.unwrap_or_else(|| format!("it failed ({code})")))
    }
}
