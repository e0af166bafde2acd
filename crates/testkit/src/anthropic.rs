//! Anthropic's Messages API on loopback. It refuses the requests that the real one refuses, in its
//! words.

mod content;
mod deferral;
mod history;
mod output;
mod stream;
mod thinking;

use serde_json::{Value, json};

use crate::answer::Spoken;
use crate::http::HttpRequest;
use crate::model_fake::{ModelApi, ModelFake, unknown_field};
use crate::request_log::FakeRefusal;

pub use stream::event;
pub use thinking::{redacted, signature};

/// The required key.
pub const KEY: &str = "sk-ant-test-1234567890";
/// A model that thinks by a budget.
pub const MODEL: &str = "claude-test-4-5";
/// A model that thinks by an effort, if it is asked to.
pub const ADAPTIVE: &str = "claude-test-4-7";
/// A model that always decides by itself whether it thinks.
pub const THINKER: &str = "claude-test-5";
/// Maximum number of tokens in an answer.
const MOST_TOKENS: u64 = 64_000;
/// Maximum size of a request in bytes.
const LARGEST: usize = 32 * 1024 * 1024;

/// A server at `http://ADDRESS`, with `/v1/messages`.
pub type AnthropicFake = ModelFake<MessagesApi>;

/// The API with three models.
#[derive(Debug, Default)]
pub struct MessagesApi;

impl ModelApi for MessagesApi {
    type Refusal = AnthropicRefusal;

    fn check(&self, request: &HttpRequest) -> Result<Value, AnthropicRefusal> {
        check(request)
    }

    fn events(spoken: &Spoken) -> Vec<String> {
        stream::events(spoken)
    }
}

/// Returns the results of the calls in the last message of a request, in order. The result is empty
/// if it refers to tools.
#[must_use]
pub fn last_results(request: &Value) -> Vec<&str> {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let blocks = last.and_then(|message| message["content"].as_array()).into_iter().flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|result| result["content"].as_str().unwrap_or_default()).collect()
}

/// A refusal in the words of the real API.
#[derive(Debug)]
pub struct AnthropicRefusal {
    status: u16,
    kind: &'static str,
    message: String,
}

impl From<AnthropicRefusal> for FakeRefusal {
    fn from(refusal: AnthropicRefusal) -> Self {
        let AnthropicRefusal { status, kind, message } = refusal;
        let error = json!({ "type": kind, "message": message });
        let body = json!({ "type": "error", "error": error, "request_id": "req_1" }).to_string();
        Self::new(status, "application/json", &body, message)
    }
}

fn invalid(message: impl Into<String>) -> AnthropicRefusal {
    AnthropicRefusal { status: 400, kind: "invalid_request_error", message: message.into() }
}

fn not_found(message: impl Into<String>) -> AnthropicRefusal {
    AnthropicRefusal { status: 404, kind: "not_found_error", message: message.into() }
}

fn unauthorized(message: &str) -> AnthropicRefusal {
    AnthropicRefusal { status: 401, kind: "authentication_error", message: message.to_owned() }
}

/// Checks a request as the real API does.
fn check(request: &HttpRequest) -> Result<Value, AnthropicRefusal> {
    if request.method != "POST" || request.path != "/v1/messages" {
        return Err(not_found("Not found"));
    }
    check_headers(request)?;
    if request.body.len() > LARGEST {
        let message = "Request exceeds the maximum size".to_owned();
        return Err(AnthropicRefusal { status: 413, kind: "request_too_large", message });
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| invalid(format!("The request body is not valid JSON: {error}")))?;
    check_model(&body)?;
    check_tools(&body)?;
    deferral::check(&body)?;
    check_system(&body["system"])?;
    let messages =
        body["messages"].as_array().ok_or_else(|| invalid("messages: Field required"))?;
    history::check(messages, body["thinking"]["type"] == "enabled")?;
    check_caching(&body)?;
    output::check(&body["output_config"])?;
    Ok(body)
}

fn check_headers(request: &HttpRequest) -> Result<(), AnthropicRefusal> {
    match request.header("x-api-key") {
        None => return Err(unauthorized("x-api-key header is required")),
        Some(key) if key != KEY => return Err(unauthorized("invalid x-api-key")),
        Some(_) => {}
    }
    match request.header("anthropic-version") {
        None => Err(invalid("anthropic-version: header is required")),
        Some("2023-06-01") => Ok(()),
        Some(other) => {
            Err(invalid(format!("anthropic-version: \"{other}\" is not a valid version")))
        }
    }
}

fn check_model(body: &Value) -> Result<(), AnthropicRefusal> {
    const FIELDS: [&str; 8] = [
        "model",
        "max_tokens",
        "system",
        "messages",
        "tools",
        "stream",
        "thinking",
        "output_config",
    ];
    if let Some(other) = unknown_field(body, &FIELDS) {
        return Err(invalid(format!("{other}: Extra inputs are not permitted")));
    }
    let model = body["model"].as_str().ok_or_else(|| invalid("model: Field required"))?;
    if ![MODEL, ADAPTIVE, THINKER].contains(&model) {
        return Err(not_found(format!("model: {model}")));
    }
    let most = body["max_tokens"].as_u64().ok_or_else(|| invalid("max_tokens: Field required"))?;
    if most == 0 {
        return Err(invalid("max_tokens: Input should be greater than or equal to 1"));
    }
    if most > MOST_TOKENS {
        return Err(invalid(format!(
            "max_tokens: {most} > {MOST_TOKENS}, which is the maximum allowed number of output \
             tokens for {model}"
        )));
    }
    thinking::check_form(model, &body["thinking"], &body["output_config"])?;
    thinking::check_budget(&body["thinking"], most)
}

fn check_tools(body: &Value) -> Result<(), AnthropicRefusal> {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    for (place, tool) in tools.iter().enumerate() {
        let here = format!("tools.{place}.custom");
        content::check_name(&tool["name"], &here)?;
        if tool["input_schema"].is_null() {
            return Err(invalid(format!("{here}.input_schema: Field required")));
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(invalid(format!("{here}.input_schema.type: Input should be 'object'")));
        }
        if tools[..place].iter().any(|other| other["name"] == tool["name"]) {
            return Err(invalid("tools: Tool names must be unique."));
        }
    }
    Ok(())
}

fn check_system(system: &Value) -> Result<(), AnthropicRefusal> {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            blocks.iter().try_for_each(|block| content::check_text(block, "system"))
        }
        _ => Err(invalid("system: Input should be a valid list")),
    }
}

/// Checks the number of cache marks: at most four.
fn check_caching(body: &Value) -> Result<(), AnthropicRefusal> {
    fn marks(value: &Value) -> usize {
        match value {
            Value::Array(values) => values.iter().map(marks).sum(),
            Value::Object(map) => {
                let here = usize::from(map.contains_key("cache_control"));
                // The insides of calls and schemas are ignored.
                let inside = ["content", "tools", "system", "messages"];
                here + inside.iter().filter_map(|key| map.get(*key)).map(marks).sum::<usize>()
            }
            _ => 0,
        }
    }
    match marks(body) {
        0..=4 => Ok(()),
        found => Err(invalid(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        ))),
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
