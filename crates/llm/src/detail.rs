//! Shortens and cleans error messages of providers so that they can be shown.

use avocet_protocol::Secret;
use serde_json::Value;

/// Maximum length of a shown error message, in characters.
const MAX_DETAIL: usize = 300;

/// Finds the message of an error in the formats that servers use.
pub(crate) fn error_message(error: &Value) -> Option<&str> {
    let shapes = [&error["error"]["message"], &error["error"], &error["message"], &error["detail"]];
    shapes.into_iter().find_map(Value::as_str)
}

/// Returns an error message in one short line. Removes our key, because some providers repeat it.
pub(crate) fn clean(text: &str, key: Option<&Secret>) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // An empty key would match everywhere.
    if let Some(key) = key.filter(|key| !key.expose().is_empty()) {
        text = text.replace(key.expose(), "[secret]");
    }
    if text.chars().count() > MAX_DETAIL {
        text = text.chars().take(MAX_DETAIL).collect();
        text.push('…');
    }
    text
}
