//! OpenAI's Responses API on loopback. It is stateless, and refuses the requests that the real one
//! refuses, in its words.

mod input;
mod search;
mod stream;
mod thinking;

use serde_json::Value;

use super::{OpenAiRefusal, check_answer_schema, check_key, check_name, invalid, wrong_url};
use crate::answer::{ModelAnswer, Spoken};
use crate::http::HttpRequest;
use crate::model_fake::{ModelApi, ModelFake, results_at_end, unknown_field};

pub use stream::{event, response};
pub use thinking::thought;

/// A model that thinks.
pub const MODEL: &str = "gpt-5-test";
/// A model without thinking.
pub const PLAIN: &str = "gpt-4-test";

/// The name with which a test lets the model search for tools.
pub const TOOL_SEARCH: &str = "tool_search";

/// A server at `http://ADDRESS/v1`, with `/responses`.
pub type ResponsesFake = ModelFake<ResponsesApi>;

/// The API with two models.
#[derive(Debug, Default)]
pub struct ResponsesApi;

impl ModelApi for ResponsesApi {
    const BASE_PATH: &'static str = "/v1";
    type Refusal = OpenAiRefusal;

    fn check(&self, request: &HttpRequest) -> Result<Value, OpenAiRefusal> {
        check(request)
    }

    fn adapt(&self, request: &Value, answer: ModelAnswer) -> ModelAnswer {
        given(request, answer)
    }

    fn events(spoken: &Spoken) -> Vec<String> {
        stream::events(spoken)
    }
}

/// Returns the results of the calls at the end of a request, in order.
#[must_use]
pub fn last_results(request: &Value) -> Vec<&str> {
    results_at_end(&request["input"], |item| {
        (item["type"] == "function_call_output").then(|| &item["output"])
    })
}

/// Removes thoughts and streaming from an answer if the request does not ask for them.
fn given(request: &Value, answer: ModelAnswer) -> ModelAnswer {
    let asked = request["include"].as_array().is_some_and(|include| !include.is_empty());
    match answer {
        ModelAnswer::Thinks(_, then) if !asked => given(request, *then),
        ModelAnswer::Says(text) if request["stream"] != true => {
            let headers = vec![("content-type", "application/json".to_owned())];
            ModelAnswer::Status(200, headers, stream::whole(&text).to_string())
        }
        answer => answer,
    }
}

/// Checks a request as the real API does.
fn check(request: &HttpRequest) -> Result<Value, OpenAiRefusal> {
    if request.method != "POST" || request.path != "/v1/responses" {
        return Err(wrong_url(request));
    }
    check_key(request)?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| invalid("We could not parse the JSON body of your request."))?;
    check_fields(&body)?;
    check_options(&body)?;
    let format = &body["text"]["format"];
    if !format.is_null() {
        if let Some(other) = unknown_field(format, &["type", "name", "schema", "strict"]) {
            return Err(invalid(format!("Unknown parameter: 'text.format.{other}'.")));
        }
        if format["type"] != "json_schema" {
            return Err(invalid("Invalid value: 'text.format.type'."));
        }
        check_answer_schema(format, "text.format")?;
    }
    search::check(&body)?;
    for (place, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        if tool["type"] != "tool_search" {
            check_tool(tool, place)?;
        }
    }
    input::check(&body["input"], body["store"] == false)?;
    Ok(body)
}

fn check_fields(body: &Value) -> Result<(), OpenAiRefusal> {
    const FIELDS: [&str; 12] = [
        "model",
        "instructions",
        "input",
        "tools",
        "stream",
        "store",
        "include",
        "max_output_tokens",
        "reasoning",
        "temperature",
        "prompt_cache_key",
        "text",
    ];
    match unknown_field(body, &FIELDS) {
        Some(other) => Err(invalid(format!("Unknown parameter: '{other}'."))),
        None => Ok(()),
    }
}

fn check_options(body: &Value) -> Result<(), OpenAiRefusal> {
    let thinks = match body["model"].as_str() {
        None => return Err(invalid("Missing required parameter: 'model'.")),
        Some(MODEL) => true,
        Some(PLAIN) => false,
        Some(other) => {
            return Err(invalid(format!("The requested model '{other}' does not exist.")));
        }
    };
    let unsupported = |field: &str| {
        let message = format!("Unsupported parameter: '{field}' is not supported with this model.");
        Err(invalid(message))
    };
    if body["include"].as_array().is_some_and(|include| !include.is_empty()) && !thinks {
        return Err(invalid("Encrypted content is not supported with this model."));
    }
    if !body["reasoning"]["effort"].is_null() && !thinks {
        return unsupported("reasoning.effort");
    }
    if !body["temperature"].is_null() && thinks {
        return unsupported("temperature");
    }
    thinking::check_effort(&body["reasoning"]["effort"])?;
    match body["max_output_tokens"].as_u64() {
        Some(few @ ..16) => Err(invalid(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but \
             got {few} instead."
        ))),
        _ => Ok(()),
    }
}

fn check_tool(tool: &Value, place: usize) -> Result<(), OpenAiRefusal> {
    let Some(name) = tool["name"].as_str() else {
        return Err(invalid(format!("Missing required parameter: 'tools[{place}].name'.")));
    };
    check_name(&tool["name"], &format!("tools[{place}].name"))?;
    let kind = &tool["parameters"]["type"];
    if kind != "object" {
        return Err(invalid(format!(
            "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \
             \"object\"', got 'type: {kind}'."
        )));
    }
    if tool["strict"] != false && tool["parameters"]["additionalProperties"] != false {
        return Err(invalid(format!(
            "Invalid schema for function '{name}': In context=(), 'additionalProperties' is \
             required to be supplied and to be false."
        )));
    }
    Ok(())
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
