//! The relevant events of a stream (OpenAI API reference, "Streaming events").

use serde::Deserialize;
use serde_json::Value;

use crate::endpoint::AnswerError;
use crate::null::or_default;
use crate::openai::codes::of_error;

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum ResponsesEvent {
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
    /// Beginnings and ends of parts, and unknown events.
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) status: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) output: Vec<Value>,
    pub(super) usage: Option<ResponsesUsage>,
    pub(super) error: Option<WireError>,
    pub(super) incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete {
    #[serde(deserialize_with = "or_default")]
    pub(super) reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesUsage {
    #[serde(deserialize_with = "or_default")]
    pub(super) input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub(super) input_tokens_details: InputDetails,
    #[serde(deserialize_with = "or_default")]
    pub(super) output_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    #[serde(deserialize_with = "or_default")]
    pub(super) cached_tokens: u64,
}

/// An error in the middle of a stream. It gets the status that it would have had before the stream.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireError(Value);

impl From<WireError> for AnswerError {
    fn from(WireError(error): WireError) -> Self {
        // Some servers nest it in another `error`.
        let error = Some(&error["error"]).filter(|inner| inner.is_object()).unwrap_or(&error);
        let status = of_error(error).unwrap_or(500);
        let message = error["message"].as_str().filter(|message| !message.is_empty());
        let code = || error["code"].as_str().unwrap_or_default();
        Self::Status(
            status,
            message.map_or_else(|| format!("it failed ({})", code()), str::to_owned),
        )
    }
}
