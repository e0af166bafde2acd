//! The parameters of requests. Each is read, has no effect by decision, or is refused by its name:
//! none is ignored by accident.

use std::sync::Arc;

use avocet_protocol::model::decode_json;
use avocet_text::plain_json;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::OpenAiError;
use crate::input::{check_is_json, read_body};
use crate::problem::Problem;
use crate::state::HttpState;

/// The longest body, in bytes: several pictures in base64.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The body of a request, before its parameters are checked.
#[derive(Debug)]
pub(crate) struct ReadRequest(Map<String, Value>);

impl FromRequest<Arc<HttpState>> for ReadRequest {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<Self, Problem> {
        check_is_json(request.headers())?;
        let body = read_body(request, state, MAX_REQUEST_BYTES).await?;
        let read = decode_json(&body);
        read.map(Self).map_err(|error| Problem::bad_request(plain_json(&error)))
    }
}

impl ReadRequest {
    /// Checks the parameters, and reads those that have an effect.
    ///
    /// # Errors
    /// A parameter is unknown, not supported, or of another form.
    pub(crate) fn parse<T: DeserializeOwned>(self, known: &Parameters) -> Result<T, OpenAiError> {
        check_parameters(&self.0, known)?;
        let read = serde_json::from_value(Value::Object(self.0));
        read.map_err(|error| Problem::bad_request(plain_json(&error)).into())
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ParameterHandling {
    /// It has its effect.
    Read,
    /// It is taken without an effect: the agent's configuration decides, or it is a hint for the
    /// provider only.
    NoEffect,
    /// It is refused, unless its value is one of these (in JSON), which ask for nothing.
    Only(&'static [&'static str]),
}

/// The parameters of an API, by name.
pub(crate) type Parameters = [(&'static str, ParameterHandling)];

const READ: ParameterHandling = ParameterHandling::Read;
const NO_EFFECT: ParameterHandling = ParameterHandling::NoEffect;

const fn only(values: &'static [&'static str]) -> ParameterHandling {
    ParameterHandling::Only(values)
}

/// The parameters of Chat Completions.
pub(crate) const CHAT: &Parameters = &[
    ("audio", only(&[])),
    ("frequency_penalty", NO_EFFECT),
    ("function_call", only(&["\"auto\"", "\"none\""])),
    ("functions", only(&["[]"])),
    ("logit_bias", only(&["{}"])),
    ("logprobs", only(&["false"])),
    ("max_completion_tokens", NO_EFFECT),
    ("max_tokens", NO_EFFECT),
    ("messages", READ),
    ("metadata", NO_EFFECT),
    ("modalities", only(&["[]", "[\"text\"]"])),
    ("model", READ),
    ("n", only(&["1"])),
    ("parallel_tool_calls", NO_EFFECT),
    ("prediction", NO_EFFECT),
    ("presence_penalty", NO_EFFECT),
    ("prompt_cache_key", NO_EFFECT),
    ("prompt_cache_retention", NO_EFFECT),
    ("reasoning_effort", NO_EFFECT),
    ("response_format", READ),
    ("safety_identifier", NO_EFFECT),
    ("seed", NO_EFFECT),
    ("service_tier", NO_EFFECT),
    ("stop", only(&["[]", "\"\""])),
    ("store", NO_EFFECT),
    ("stream", READ),
    ("stream_options", READ),
    ("temperature", NO_EFFECT),
    ("tool_choice", READ),
    ("tools", READ),
    ("top_logprobs", only(&["0"])),
    ("top_p", NO_EFFECT),
    ("user", READ),
    ("verbosity", NO_EFFECT),
    ("web_search_options", only(&[])),
];

pub(crate) const RESPONSES: &Parameters = &[
    ("background", only(&["false"])),
    ("conversation", READ),
    ("include", only(&["[]", "[\"reasoning.encrypted_content\"]"])),
    ("input", READ),
    ("instructions", READ),
    ("max_output_tokens", NO_EFFECT),
    ("max_tool_calls", only(&[])),
    ("metadata", NO_EFFECT),
    ("model", READ),
    ("parallel_tool_calls", NO_EFFECT),
    ("previous_response_id", READ),
    ("prompt", only(&[])),
    ("prompt_cache_key", NO_EFFECT),
    ("prompt_cache_retention", NO_EFFECT),
    ("reasoning", NO_EFFECT),
    ("safety_identifier", NO_EFFECT),
    ("service_tier", NO_EFFECT),
    ("store", NO_EFFECT),
    ("stream", READ),
    ("stream_options", NO_EFFECT),
    ("temperature", NO_EFFECT),
    ("text", READ),
    ("tool_choice", READ),
    ("tools", READ),
    ("top_logprobs", only(&["0"])),
    ("top_p", NO_EFFECT),
    ("truncation", NO_EFFECT),
    ("user", READ),
];

/// Refuses the first parameter that the API does not have, or that would have no effect although
/// its value asks for one. A null is a missing parameter.
///
/// # Errors
/// The error names the parameter.
pub(crate) fn check_parameters(
    request: &Map<String, Value>,
    known: &Parameters,
) -> Result<(), OpenAiError> {
    for (name, value) in request.iter().filter(|(_, value)| !value.is_null()) {
        let Some((_, handling)) = known.iter().find(|(one, _)| one == name) else {
            let detail = format!("there is no parameter `{name}`; leave it out");
            return Err(OpenAiError::unsupported(name, "unknown_parameter", detail));
        };
        let ParameterHandling::Only(values) = handling else { continue };
        if values.is_empty() {
            let detail = format!("`{name}` is not supported; leave it out");
            return Err(OpenAiError::unsupported(name, "unsupported_parameter", detail));
        }
        let json = value.to_string();
        if !values.contains(&json.as_str()) {
            let supported = values.join(" or ");
            let detail = format!(
                "`{name}` is not supported with another value than {supported}; leave it out"
            );
            return Err(OpenAiError::unsupported(name, "unsupported_value", detail));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn check_parameters_names_what_is_unknown_or_has_no_effect() {
        let table = [
            (CHAT, json!({"temperature": 0.2, "n": 1, "logprobs": null, "stop": []}), None),
            (CHAT, json!({"n": 2}), Some(("n", "unsupported_value"))),
            (CHAT, json!({"logprobs": true}), Some(("logprobs", "unsupported_value"))),
            (CHAT, json!({"stop": ["x"]}), Some(("stop", "unsupported_value"))),
            (CHAT, json!({"modalities": ["audio"]}), Some(("modalities", "unsupported_value"))),
            (CHAT, json!({"audio": {}}), Some(("audio", "unsupported_parameter"))),
            (CHAT, json!({"top_k": 1}), Some(("top_k", "unknown_parameter"))),
            (RESPONSES, json!({"background": false, "reasoning": {"effort": "low"}}), None),
            (RESPONSES, json!({"background": true}), Some(("background", "unsupported_value"))),
            (RESPONSES, json!({"prompt": {}}), Some(("prompt", "unsupported_parameter"))),
            (RESPONSES, json!({"messages": []}), Some(("messages", "unknown_parameter"))),
        ];
        for (known, request, expected) in table {
            let checked = check_parameters(request.as_object().unwrap(), known);
            let found = checked.map_err(|error| error.to_json()["error"].clone());
            let expected = expected.map_or(Ok(()), Err);
            let found = found.as_ref().copied().map_err(|error| {
                (error["param"].as_str().unwrap(), error["code"].as_str().unwrap())
            });
            assert_eq!(found, expected, "{request}");
        }
    }

    #[test]
    fn parameters_are_listed_by_name() {
        for list in [CHAT, RESPONSES] {
            assert!(list.is_sorted_by(|(one, _), (next, _)| one < next));
        }
    }
}
