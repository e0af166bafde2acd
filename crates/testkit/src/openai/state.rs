//! Servers that require the opaque state of earlier answers, or refuse it, with their errors.

use serde_json::{Value, json};

use super::{OpenAiRefusal, invalid};

/// The rule of a server for the messages of an assistant that have calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsistsOnState {
    /// `reasoning_content` must be there, and may be empty: DeepSeek.
    Reasoning,
    /// `reasoning_content` must be there, with a text: Moonshot.
    ReasoningText,
    /// The first call must have a signature: Gemini at its OpenAI address.
    Signatures,
    /// No message may have fields that the API lacks: Mistral.
    KnownFields,
    /// No message may have `reasoning_content`: Groq.
    NoReasoning,
    /// Each signature must be this one, as for a model that knows only its own.
    OwnSignature(&'static str),
}

/// Fields of an assistant message of the API.
const KNOWN: [&str; 4] = ["role", "content", "tool_calls", "name"];

pub(super) fn check(on: InsistsOnState, body: &Value) -> Result<(), OpenAiRefusal> {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    for (place, message) in messages.iter().enumerate() {
        if message["role"] == "assistant" {
            check_message(on, message, place)?;
        }
    }
    Ok(())
}

fn check_message(on: InsistsOnState, message: &Value, place: usize) -> Result<(), OpenAiRefusal> {
    let calls = message["tool_calls"].as_array();
    let reasoning = message["reasoning_content"].as_str();
    match on {
        InsistsOnState::Reasoning if calls.is_some() && reasoning.is_none() => Err(invalid(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        )),
        InsistsOnState::ReasoningText if calls.is_some() && reasoning.is_none_or(str::is_empty) => {
            Err(invalid(format!(
                "thinking is enabled but reasoning_content is missing in assistant tool call \
                 message at index {place}"
            )))
        }
        InsistsOnState::Signatures => check_signature(calls, place),
        InsistsOnState::OwnSignature(own) => check_own_signature(calls, own),
        InsistsOnState::KnownFields => check_fields(message, place),
        InsistsOnState::NoReasoning if !message["reasoning_content"].is_null() => {
            Err(invalid(format!(
                "'messages.{place}' : for 'role:assistant' the following must be satisfied\
                 [('messages.{place}' : property 'reasoning_content' is unsupported)]"
            )))
        }
        _ => Ok(()),
    }
}

fn signature(call: &Value) -> Option<&str> {
    call["extra_content"]["google"]["thought_signature"].as_str()
}

fn check_signature(calls: Option<&Vec<Value>>, place: usize) -> Result<(), OpenAiRefusal> {
    let Some(first) = calls.and_then(|calls| calls.first()) else { return Ok(()) };
    if signature(first).is_some() {
        return Ok(());
    }
    let name = first["function"]["name"].as_str().unwrap_or_default();
    Err(of_google(&format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for \
         tools to work correctly, and missing thought_signature may lead to degraded model \
         performance. Additional data, function call `default_api:{name}` , position {place}."
    )))
}

fn check_own_signature(calls: Option<&Vec<Value>>, own: &str) -> Result<(), OpenAiRefusal> {
    let mut signatures = calls.into_iter().flatten().filter_map(signature);
    match signatures.find(|found| *found != own && !found.starts_with("skip_")) {
        Some(_) => Err(of_google("Thought signature is not valid.")),
        None => Ok(()),
    }
}

/// Google wraps the error in a list.
fn of_google(message: &str) -> OpenAiRefusal {
    let error = json!({ "code": 400, "message": message, "status": "INVALID_ARGUMENT" });
    OpenAiRefusal { body: Some(json!([{ "error": error }])), ..invalid(message) }
}

fn check_fields(message: &Value, place: usize) -> Result<(), OpenAiRefusal> {
    let unknown = |key: &&String| !KNOWN.contains(&key.as_str());
    let mut fields = message.as_object().into_iter().flat_map(|message| message.keys());
    let Some(field) = fields.find(unknown) else { return Ok(()) };
    let detail = json!([{ "type": "extra_forbidden",
        "loc": ["body", "messages", place, "assistant", field],
        "msg": "Extra inputs are not permitted", "input": message[field] }]);
    let body = json!({ "object": "error", "message": { "detail": detail },
        "type": "invalid_request_error", "param": null, "code": null });
    let message = format!("{field}: Extra inputs are not permitted");
    Err(OpenAiRefusal { status: 422, message, body: Some(body) })
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
