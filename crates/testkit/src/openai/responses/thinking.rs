//! The encrypted thoughts of a model before a tool call. They are accepted only unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::MODEL;
use crate::openai::{OpenAiRefusal, invalid};

const SEALED: &str = "sealed:";

/// Returns an item with an encrypted thought.
#[must_use]
pub fn thought(id: &str, thinking: &str) -> Value {
    json!({ "id": id, "type": "reasoning", "summary": [],
        "encrypted_content": STANDARD.encode(format!("{SEALED}{id}:{thinking}")) })
}

/// Checks the thinking effort of a request.
pub(super) fn check_effort(effort: &Value) -> Result<(), OpenAiRefusal> {
    match effort.as_str() {
        None | Some("minimal" | "low" | "medium" | "high") => Ok(()),
        Some(other) => Err(invalid(format!(
            "Unsupported value: '{other}' is not supported with the '{MODEL}' model. Supported \
             values are: 'minimal', 'low', 'medium', and 'high'."
        ))),
    }
}

/// Checks a thought, and that the item that it led to comes next.
pub(super) fn check(item: &Value, place: usize, next: Option<&Value>) -> Result<(), OpenAiRefusal> {
    if !item["summary"].is_array() {
        return Err(invalid(format!("Missing required parameter: 'input[{place}].summary'.")));
    }
    let id = item["id"].as_str().unwrap_or_default();
    let Some(sealed) = item["encrypted_content"].as_str() else {
        let message = format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. \
             Try again with `store` set to true, or remove this item from your input."
        );
        return Err(OpenAiRefusal { status: 404, message, body: None });
    };
    let opened = STANDARD.decode(sealed).unwrap_or_default();
    if !opened.starts_with(format!("{SEALED}{id}:").as_bytes()) {
        return Err(invalid(format!(
            "The encrypted content for item {id} could not be verified. Reason: Encrypted content \
             could not be decrypted or parsed."
        )));
    }
    let leads_on = next.is_some_and(|next| {
        matches!(next["type"].as_str(), Some("function_call" | "reasoning"))
            || next["role"] == "assistant"
    });
    if leads_on {
        return Ok(());
    }
    Err(invalid(format!(
        "Item '{id}' of type 'reasoning' was provided without its required following item."
    )))
}
