//! Checks the buttons below a message.

use serde_json::Value;

use super::text::length;
use super::wire::{ApiError, MethodCall};

/// Maximum size of a button's data in bytes.
pub const CALLBACK_DATA_LIMIT: usize = 64;
/// Maximum number of buttons below a message.
const BUTTON_LIMIT: usize = 100;

/// Returns the inline keyboard of a call.
pub(super) fn read(call: &MethodCall) -> Result<Option<Value>, ApiError> {
    let Some(markup) = call.json("reply_markup")? else { return Ok(None) };
    if !markup.is_object() {
        return Err(ApiError::bad_request("object expected as reply markup"));
    }
    let Some(rows) = markup.get("inline_keyboard") else { return Ok(None) };
    let unreadable =
        |why: &str| ApiError::bad_request(format!("can't parse inline keyboard: {why}"));
    let rows = rows.as_array().ok_or_else(|| unreadable("expected an Array of Array"))?;
    let mut buttons = 0;
    for row in rows {
        let row = row.as_array().ok_or_else(|| unreadable("expected an Array of buttons"))?;
        buttons += row.len();
        for button in row {
            check_button(button)?;
        }
    }
    if buttons > BUTTON_LIMIT {
        return Err(ApiError::bad_request("REPLY_MARKUP_TOO_LONG"));
    }
    Ok((buttons > 0).then_some(markup))
}

fn check_button(button: &Value) -> Result<(), ApiError> {
    let unreadable = |why: &str| {
        Err(ApiError::bad_request(format!("can't parse inline keyboard button: {why}")))
    };
    if !button.is_object() {
        return unreadable("InlineKeyboardButton must be an Object");
    }
    match button["text"].as_str() {
        None => return unreadable("Can't find field \"text\""),
        Some(text) if length(text.trim()) == 0 => {
            return Err(ApiError::bad_request("BUTTON_TEXT_EMPTY"));
        }
        Some(_) => {}
    }
    if let Some(url) = button.get("url") {
        let is_link = url.as_str().is_some_and(|url| url.contains(['.', ':']));
        return if is_link { Ok(()) } else { Err(ApiError::bad_request("BUTTON_URL_INVALID")) };
    }
    match button.get("callback_data").and_then(Value::as_str) {
        None => unreadable("Text buttons are unallowed in the inline keyboard"),
        Some(data) if data.is_empty() || data.len() > CALLBACK_DATA_LIMIT => {
            Err(ApiError::bad_request("BUTTON_DATA_INVALID"))
        }
        Some(_) => Ok(()),
    }
}
