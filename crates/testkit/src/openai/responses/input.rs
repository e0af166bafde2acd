//! Checks the conversation of a request: a list of items, with one result for each call.

use serde_json::Value;

use super::thinking;
use crate::openai::{OpenAiRefusal, check_name, content, invalid};

/// Checks the input of a request. `sealed` means that the server stores nothing, so thoughts must
/// be sent back.
pub(super) fn check(input: &Value, sealed: bool) -> Result<(), OpenAiRefusal> {
    let items = match input {
        Value::String(_) => return Ok(()),
        Value::Array(items) if !items.is_empty() => items,
        _ => {
            return Err(invalid(
                "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' \
                 must be provided.",
            ));
        }
    };
    let mut open: Vec<&str> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().or(item["role"].as_str().map(|_| "message"));
        match kind.unwrap_or_default() {
            "message" => check_message(item, place)?,
            "function_call" => open.push(check_call(item, place)?),
            // The module `search` checks their contents.
            "tool_search_call" => open.push(item["call_id"].as_str().unwrap_or_default()),
            "function_call_output" | "tool_search_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                let Some(found) = open.iter().position(|call| *call == id) else {
                    return Err(invalid(format!(
                        "No tool call found for function call output with call_id {id}."
                    )));
                };
                open.remove(found);
                if !item["output"].is_string() && kind == Some("function_call_output") {
                    return Err(missing(place, "output"));
                }
            }
            "reasoning" if sealed => thinking::check(item, place, items.get(place + 1))?,
            "reasoning" => {}
            other => {
                return Err(invalid(format!(
                    "Invalid value: '{other}'. Supported values are: 'function_call', \
                     'function_call_output', 'message', 'reasoning', and others."
                )));
            }
        }
    }
    match open[..] {
        [] => Ok(()),
        [call, ..] => Err(invalid(format!("No tool output found for function call {call}."))),
    }
}

fn missing(place: usize, field: &str) -> OpenAiRefusal {
    invalid(format!("Missing required parameter: 'input[{place}].{field}'."))
}

fn check_call(item: &Value, place: usize) -> Result<&str, OpenAiRefusal> {
    check_name(&item["name"], &format!("input[{place}].name"))?;
    let arguments = item["arguments"].as_str().ok_or_else(|| missing(place, "arguments"))?;
    if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
        return Err(invalid("Invalid 'arguments': not a JSON object in a string"));
    }
    let id = item["call_id"].as_str().ok_or_else(|| missing(place, "call_id"))?;
    match id.len() {
        0..=64 => Ok(id),
        length => Err(invalid(format!(
            "Invalid 'input[{place}].call_id': string too long. Expected a string with maximum \
             length 64, but got a string with length {length} instead."
        ))),
    }
}

fn check_message(item: &Value, place: usize) -> Result<(), OpenAiRefusal> {
    let role = item["role"].as_str().unwrap_or_default();
    if !matches!(role, "user" | "assistant" | "system" | "developer") {
        return Err(invalid(format!(
            "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', \
             and 'user'."
        )));
    }
    match (role, item["phase"].as_str()) {
        (_, None) if item["phase"].is_null() => {}
        ("assistant", Some("commentary" | "final_answer")) => {}
        ("assistant", _) => {
            return Err(invalid(format!(
                "Invalid value: {}. Supported values are: 'commentary' and 'final_answer'.",
                item["phase"]
            )));
        }
        _ => return Err(invalid(format!("Unknown parameter: 'input[{place}].phase'."))),
    }
    match &item["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) => {
            for (number, part) in parts.iter().enumerate() {
                check_part(part, role, &format!("input[{place}].content[{number}]"))?;
            }
            Ok(())
        }
        _ => Err(missing(place, "content")),
    }
}

fn check_part(part: &Value, role: &str, here: &str) -> Result<(), OpenAiRefusal> {
    match (part["type"].as_str().unwrap_or_default(), role) {
        ("output_text", "assistant") | ("input_text", "user" | "system" | "developer") => {
            let text = part["text"].as_str().map(|_| ());
            text.ok_or_else(|| invalid(format!("Missing required parameter: '{here}.text'.")))
        }
        ("input_image", "user") => match part["image_url"].as_str() {
            Some(url) => content::check_url(url),
            None => Err(invalid(format!(
                "Invalid type for '{here}.image_url': expected an image URL, but got an object \
                 instead."
            ))),
        },
        (other, "assistant") => Err(invalid(format!(
            "Invalid value: '{other}'. Supported values are: 'output_text' and 'refusal'."
        ))),
        (other, _) => Err(invalid(format!(
            "Invalid value: '{other}'. Supported values are: 'input_text', 'input_image', and \
             'input_file'."
        ))),
    }
}
