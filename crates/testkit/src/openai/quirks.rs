//! Servers with a different form of the chat completions API, and their error messages.

use serde_json::{Value, json};

use super::state::InsistsOnState;
use super::{OpenAiRefusal, invalid, unauthorized};
use crate::answer::ModelAnswer;
use crate::http::HttpRequest;

/// The special requirement of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insists {
    /// The token limit must be `max_completion_tokens`, as for OpenAI's reasoning models.
    MaxCompletionTokens,
    /// The token limit must be `max_tokens`, as for older servers.
    MaxTokens,
    /// Instructions must have the role `developer`.
    Developer,
    /// Instructions are refused, as by the templates of some models.
    NoInstructions,
    /// `stream_options` is refused.
    NoStreamOptions,
    /// Streaming is refused.
    NoStream,
    /// Every request must have this header with this value.
    Header(&'static str, &'static str),
    /// Thinking must be switched off, in the way of vLLM.
    NoThinking,
    /// Tools are refused, as by servers whose model has no template for them.
    NoTools,
    /// A temperature is refused, as by OpenAI's reasoning models.
    NoTemperature,
    /// `reasoning_effort` is refused.
    NoEffort,
    /// The opaque state of earlier answers must come back, or must not: see [`InsistsOnState`].
    State(InsistsOnState),
}

/// Checks the special requirement of a server.
pub(super) fn check(on: Insists, request: &HttpRequest, body: &Value) -> Result<(), OpenAiRefusal> {
    let first = body["messages"][0]["role"].as_str().unwrap_or_default();
    let has = |key: &str| !body[key].is_null();
    let thinking = &body["chat_template_kwargs"]["enable_thinking"];
    let complaint = match on {
        Insists::MaxCompletionTokens if has("max_tokens") => {
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead."
        }
        Insists::MaxTokens if has("max_completion_tokens") => {
            "Unrecognized request argument supplied: max_completion_tokens"
        }
        Insists::Developer if first == "system" => {
            "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        }
        Insists::NoInstructions if first != "user" => "System role not supported",
        Insists::NoStreamOptions if has("stream_options") => {
            "Unrecognized request argument supplied: stream_options"
        }
        Insists::NoStream if body["stream"] == true => "Streaming is not supported by this model.",
        Insists::Header(name, value) if request.header(name) != Some(value) => {
            return Err(unauthorized(format!("The header {name} is missing or wrong.")));
        }
        Insists::NoTools if has("tools") => "this model does not support tools",
        Insists::NoTemperature if has("temperature") => {
            "Unsupported value: 'temperature' does not support 0.5 with this model. Only the \
             default (1) value is supported."
        }
        Insists::NoEffort if has("reasoning_effort") => {
            "Unrecognized request argument supplied: reasoning_effort"
        }
        Insists::State(on) => return super::state::check(on, body),
        Insists::NoThinking if thinking != false => "Thinking is not supported by this server.",
        _ => return Ok(()),
    };
    Err(invalid(complaint))
}

/// Turns an answer into a single body if streaming was not requested.
pub(super) fn unstreamed(request: &Value, answer: ModelAnswer) -> ModelAnswer {
    let ModelAnswer::Says(text) = &answer else { return answer };
    if request["stream"] == true {
        return answer;
    }
    let message = json!({ "role": "assistant", "content": text });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    let usage = json!({ "prompt_tokens": 12, "completion_tokens": 3 });
    let body = json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1,
        "model": "fake", "choices": [choice], "usage": usage });
    let headers = vec![("content-type", "application/json".to_owned())];
    ModelAnswer::Status(200, headers, body.to_string())
}

#[cfg(test)]
#[path = "quirks_tests.rs"]
mod tests;
