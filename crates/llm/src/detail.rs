//! What a provider says that went wrong, in a form that can be shown.

use avocet_protocol::Secret;
use serde_json::Value;

/// The most that is repeated of what a provider says, in characters.
const MAX_DETAIL: usize = 300;

/// The message of an error, in the shapes in which servers send it.
pub(crate) fn says(error: &Value) -> Option<&str> {
    let shapes = [&error["error"]["message"], &error["error"], &error["message"], &error["detail"]];
    shapes.into_iter().find_map(Value::as_str)
}

/// What a provider says, short, on a line, and without our key, which some repeat.
pub(crate) fn clean(text: &str, key: Option<&Secret>) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A key that is empty is in every text.
    if let Some(key) = key.filter(|key| !key.expose().is_empty()) {
        text = text.replace(key.expose(), "[secret]");
    }
    if text.chars().count() > MAX_DETAIL {
        text = text.chars().take(MAX_DETAIL).collect();
        text.push('…');
    }
    text
}
