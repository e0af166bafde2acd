//! Google's Generative Language API on loopback. It refuses the requests that the real one refuses,
//! in its words.

mod content;
mod history;
mod schema;
mod stream;

use serde_json::{Map, Value, json};

use crate::answer::Spoken;
use crate::http::HttpRequest;
use crate::model_fake::{ModelApi, ModelFake, unknown_field};
use crate::request_log::FakeRefusal;

pub use content::{SKIPPED, signature};
pub use stream::event;

/// The required key.
pub const KEY: &str = "AIza-test-1234567890";
/// The only model.
pub const MODEL: &str = "gemini-3-test";
/// Maximum number of tokens in an answer.
const MOST_TOKENS: u64 = 65_536;
/// Maximum number of tokens for thinking.
const MOST_THOUGHT: i64 = 24_576;
/// Maximum size of a request in bytes.
const LARGEST: usize = 20 * 1024 * 1024;

/// A server at `http://ADDRESS`, with `/v1beta/models/MODEL:streamGenerateContent`.
pub type GeminiFake = ModelFake<GenerativeLanguageApi>;

/// The API with one model.
#[derive(Debug, Default)]
pub struct GenerativeLanguageApi;

impl ModelApi for GenerativeLanguageApi {
    type Refusal = GeminiRefusal;

    fn check(&self, request: &HttpRequest) -> Result<Value, GeminiRefusal> {
        check(request)
    }

    fn events(spoken: &Spoken) -> Vec<String> {
        stream::events(spoken)
    }
}

/// Returns the results of the calls in the last content of a request, in order.
#[must_use]
pub fn last_results(request: &Value) -> Vec<&Value> {
    let last = request["contents"].as_array().and_then(|contents| contents.last());
    let parts = last.and_then(|content| content["parts"].as_array()).into_iter().flatten();
    parts
        .filter_map(|part| part.get("functionResponse"))
        .map(|result| &result["response"])
        .collect()
}

/// A refusal in the words of the real API.
#[derive(Debug)]
pub struct GeminiRefusal {
    code: u16,
    status: &'static str,
    message: String,
    reason: Option<&'static str>,
}

impl From<GeminiRefusal> for FakeRefusal {
    fn from(refusal: GeminiRefusal) -> Self {
        let GeminiRefusal { code, status, message, reason } = refusal;
        let mut error = json!({ "code": code, "message": message, "status": status });
        if let Some(reason) = reason {
            error["details"] = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason, "domain": "googleapis.com" }]);
        }
        let body = json!({ "error": error }).to_string();
        Self::new(code, "application/json; charset=UTF-8", &body, message)
    }
}

fn invalid(message: impl Into<String>) -> GeminiRefusal {
    GeminiRefusal { code: 400, status: "INVALID_ARGUMENT", message: message.into(), reason: None }
}

/// Returns the refusal of an unknown field.
fn unknown(name: &str, place: &str) -> GeminiRefusal {
    let place = if place.is_empty() { String::new() } else { format!(" at '{place}'") };
    invalid(format!(
        "Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field."
    ))
}

/// Checks that an object at `place` has only these fields.
fn check_fields(object: &Value, known: &[&str], place: &str) -> Result<(), GeminiRefusal> {
    if !object.is_object() {
        return Err(invalid(format!("Invalid value at '{place}'")));
    }
    unknown_field(object, known).map_or(Ok(()), |other| Err(unknown(other, place)))
}

/// Checks a request as the real API does.
fn check(request: &HttpRequest) -> Result<Value, GeminiRefusal> {
    check_path(request)?;
    check_key(request)?;
    if request.body.len() > LARGEST {
        let message = format!("Request payload size exceeds the limit: {LARGEST} bytes.");
        return Err(invalid(message));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| invalid(format!("Invalid JSON payload received. {error}")))?;
    const FIELDS: [&str; 4] = ["contents", "systemInstruction", "tools", "generationConfig"];
    check_fields(&body, &FIELDS, "")?;
    if let Some(instruction) = body.get("systemInstruction") {
        content::check_parts(&instruction["parts"], "system_instruction")?;
    }
    check_tools(&body["tools"])?;
    check_generation(&body["generationConfig"])?;
    history::check(&body["contents"])?;
    Ok(body)
}

fn check_path(request: &HttpRequest) -> Result<(), GeminiRefusal> {
    let not_found =
        |message: String| GeminiRefusal { code: 404, status: "NOT_FOUND", message, reason: None };
    let named = request.path.strip_prefix("/v1beta/models/");
    let asked = named.and_then(|rest| rest.strip_suffix(":streamGenerateContent?alt=sse"));
    match asked {
        Some(MODEL) if request.method == "POST" => Ok(()),
        Some(other) if request.method == "POST" => Err(not_found(format!(
            "models/{other} is not found for API version v1beta, or is not supported for \
             generateContent. Call ListModels to see the list of available models and their \
             supported methods."
        ))),
        _ => Err(not_found("Requested entity was not found.".to_owned())),
    }
}

fn check_key(request: &HttpRequest) -> Result<(), GeminiRefusal> {
    match request.header("x-goog-api-key") {
        Some(KEY) => Ok(()),
        Some(_) => Err(GeminiRefusal {
            reason: Some("API_KEY_INVALID"),
            ..invalid("API key not valid. Please pass a valid API key.")
        }),
        None => Err(GeminiRefusal {
            code: 403,
            status: "PERMISSION_DENIED",
            message: "Method doesn't allow unregistered callers (callers without established \
                      identity). Please use API Key or other form of API consumer identity to call \
                      this API."
                .to_owned(),
            reason: None,
        }),
    }
}

fn check_tools(tools: &Value) -> Result<(), GeminiRefusal> {
    let mut names = Map::new();
    for (place, tool) in tools.as_array().into_iter().flatten().enumerate() {
        let here = format!("tools[{place}]");
        check_fields(tool, &["functionDeclarations"], &here)?;
        let declarations = tool["functionDeclarations"].as_array().into_iter().flatten();
        for (number, one) in declarations.enumerate() {
            let here = format!("{here}.function_declarations[{number}]");
            check_fields(one, &["name", "description", "parameters"], &here)?;
            content::check_name(&one["name"], &here)?;
            let name = one["name"].as_str().unwrap_or_default();
            if names.insert(name.to_owned(), Value::Null).is_some() {
                return Err(invalid(format!("Duplicate function declaration found: {name}")));
            }
            if let Some(parameters) = one.get("parameters") {
                schema::check_parameters(parameters, &format!("{here}.parameters"))?;
            }
        }
    }
    Ok(())
}

fn check_generation(config: &Value) -> Result<(), GeminiRefusal> {
    if config.is_null() {
        return Ok(());
    }
    const KNOWN: [&str; 4] =
        ["maxOutputTokens", "responseJsonSchema", "responseMimeType", "thinkingConfig"];
    check_fields(config, &KNOWN, "generation_config")?;
    if config.get("responseJsonSchema").is_some_and(|schema| !schema.is_object()) {
        return Err(invalid("Invalid value at 'generation_config.response_json_schema'"));
    }
    if config.get("responseJsonSchema").is_some()
        && config["responseMimeType"] != "application/json"
    {
        return Err(invalid(
            "Forced function calling or a response schema requires a response mime type: \
             'application/json'",
        ));
    }
    let most = config["maxOutputTokens"].as_u64().unwrap_or(MOST_TOKENS);
    if most == 0 {
        return Err(invalid("max_output_tokens must be positive."));
    }
    if most > MOST_TOKENS {
        return Err(invalid(format!(
            "Unable to submit request because it has a maxOutputTokens value of {most} but the \
             supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try \
             again."
        )));
    }
    let Some(thinking) = config.get("thinkingConfig") else { return Ok(()) };
    const FIELDS: [&str; 3] = ["thinkingBudget", "thinkingLevel", "includeThoughts"];
    check_fields(thinking, &FIELDS, "generation_config.thinking_config")?;
    let level = thinking["thinkingLevel"].as_str();
    if level.is_some() && !thinking["thinkingBudget"].is_null() {
        let both = "You can only set only one of thinking budget and thinking level.";
        return Err(invalid(both));
    }
    if let Some(level) = level.filter(|level| !["low", "high"].contains(level)) {
        return Err(invalid(format!(
            "Thinking level {} is not supported for this model. Please retry with other thinking \
             level.",
            level.to_uppercase()
        )));
    }
    match thinking["thinkingBudget"].as_i64() {
        Some(budget) if !(-1..=MOST_THOUGHT).contains(&budget) => Err(invalid(format!(
            "The thinking budget {budget} is invalid. Please choose a value between 0 and \
             {MOST_THOUGHT}."
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
