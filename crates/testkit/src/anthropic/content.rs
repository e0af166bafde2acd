//! Checks the content of a message: blocks of text, images, calls and results.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{AnthropicRefusal, invalid, thinking};
use crate::image::media_type_of;

/// Maximum size of an image, in bytes of base64.
const LARGEST_IMAGE: usize = 5 * 1024 * 1024;

/// Checks a block at the position `here`.
pub(super) fn check(block: &Value, role: &str, here: &str) -> Result<(), AnthropicRefusal> {
    check_caching(block, here)?;
    match (block["type"].as_str().unwrap_or_default(), role) {
        ("text", _) => check_text(block, "messages"),
        ("image", "user") => check_image(&block["source"], &format!("{here}.image.source")),
        ("tool_use", "assistant") => check_call(block, &format!("{here}.tool_use")),
        ("tool_result", "user") => check_result(block, &format!("{here}.tool_result")),
        ("thinking" | "redacted_thinking", "assistant") => thinking::check(block, here),
        ("tool_use", _) => {
            Err(invalid(format!("{here}: `tool_use` blocks can only be in `assistant` messages")))
        }
        ("tool_result", _) => {
            Err(invalid(format!("{here}: `tool_result` blocks can only be in `user` messages")))
        }
        (other, _) => Err(invalid(format!(
            "{here}: Input tag '{other}' found using 'type' does not match any of the expected \
             tags: 'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', \
             'tool_use'"
        ))),
    }
}

/// Checks a block of text. `place` names its position in errors.
pub(super) fn check_text(block: &Value, place: &str) -> Result<(), AnthropicRefusal> {
    match block["text"].as_str() {
        None => Err(invalid(format!("{place}: text: Field required"))),
        Some("") => Err(invalid(format!("{place}: text content blocks must be non-empty"))),
        Some(text) if text.trim().is_empty() => {
            Err(invalid(format!("{place}: text content blocks must contain non-whitespace text")))
        }
        Some(_) => Ok(()),
    }
}

/// Checks the name of a tool.
pub(super) fn check_name(name: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    let name = name.as_str().unwrap_or_default();
    if name.is_empty() || name.len() > 128 || !is_id(name) {
        return Err(invalid(format!(
            "{here}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )));
    }
    Ok(())
}

fn check_caching(block: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    let Some(caching) = block.get("cache_control") else { return Ok(()) };
    let kind = block["type"].as_str().unwrap_or_default();
    if kind.ends_with("thinking") {
        let message = format!("{here}.{kind}.cache_control: Extra inputs are not permitted");
        return Err(invalid(message));
    }
    if block["text"] == "" {
        let message = format!("{here}.text: cache_control cannot be set for empty text blocks");
        return Err(invalid(message));
    }
    if caching["type"] != "ephemeral" {
        let message = format!("{here}.{kind}.cache_control.type: Input should be 'ephemeral'");
        return Err(invalid(message));
    }
    Ok(())
}

fn check_call(call: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    check_id(&call["id"], &format!("{here}.id"))?;
    check_name(&call["name"], here)?;
    if !call["input"].is_object() {
        return Err(invalid(format!("{here}.input: Input should be a valid dictionary")));
    }
    Ok(())
}

fn check_result(result: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    check_id(&result["tool_use_id"], &format!("{here}.tool_use_id"))?;
    if result.get("is_error").is_some_and(|is_error| !is_error.is_boolean()) {
        return Err(invalid(format!("{here}.is_error: Input should be a valid boolean")));
    }
    let is_empty = result["content"].as_str().is_none_or(str::is_empty)
        && result["content"].as_array().is_none_or(Vec::is_empty);
    if result["is_error"] == true && is_empty {
        return Err(invalid(format!("{here}: content cannot be empty if `is_error` is true")));
    }
    match &result["content"] {
        Value::Null | Value::String(_) => Ok(()),
        // The references are checked against the tools of the request.
        Value::Array(blocks) if blocks.iter().all(|one| one["type"] == "tool_reference") => Ok(()),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| check_text(block, "messages")),
        _ => Err(invalid(format!("{here}.content: Input should be a valid string"))),
    }
}

fn check_id(id: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    match id.as_str() {
        None => Err(invalid(format!("{here}: Field required"))),
        Some(id) if id.is_empty() || !is_id(id) => {
            Err(invalid(format!("{here}: String should match pattern '^[a-zA-Z0-9_-]+$'")))
        }
        Some(_) => Ok(()),
    }
}

fn is_id(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn check_image(source: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    const TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    if source["type"] != "base64" {
        return Err(invalid(format!(
            "{here}: Input tag '{}' found using 'type' does not match any of the expected tags: \
             'base64', 'file', 'url'",
            source["type"].as_str().unwrap_or_default()
        )));
    }
    let here = format!("{here}.base64");
    let media_type = source["media_type"].as_str().unwrap_or_default();
    if !TYPES.contains(&media_type) {
        return Err(invalid(format!(
            "{here}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or \
             'image/webp'"
        )));
    }
    let data = source["data"].as_str().unwrap_or_default();
    if data.len() > LARGEST_IMAGE {
        let size = data.len();
        return Err(invalid(format!(
            "{here}: image exceeds 5 MB maximum: {size} bytes > {LARGEST_IMAGE} bytes"
        )));
    }
    let bytes = STANDARD.decode(data);
    let bytes = bytes.map_err(|_| invalid(format!("{here}.data: Invalid base64 data")))?;
    match media_type_of(&bytes) {
        None => Err(invalid("Could not process image")),
        Some(found) if found == media_type => Ok(()),
        Some(_) => Err(invalid(format!(
            "{here}.data: Image does not match the provided media type {media_type}"
        ))),
    }
}
