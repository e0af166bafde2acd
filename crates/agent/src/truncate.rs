//! Cuts results to the size for a model. The rest is kept and can be read by handle.

use serde_json::{Value, json};

/// The tool that shows the rest of a cut result.
pub(crate) const READ_RESULT: &str = "read_result";

/// The longest error that a model gets, in bytes. The rest of an error is discarded.
const MOST_ERROR: usize = 16 * 1024;

/// Cuts a long error to its beginning.
pub(crate) fn cut_error(text: String) -> String {
    if text.len() <= MOST_ERROR {
        return text;
    }
    let shown = &text[..text.floor_char_boundary(MOST_ERROR)];
    format!("{shown}\n[truncated: {} of {} bytes shown]", shown.len(), text.len())
}

/// A result for the model, and the whole result as JSON text if it was cut.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CutResult {
    pub(crate) value: Value,
    pub(crate) kept: Option<String>,
}

/// Cuts a result to `most` bytes, by its type: a text gets a suffix, a list a last element, an
/// object an envelope. Each says how to read the rest.
pub(crate) fn cut_result(value: Value, handle: &str, most: usize) -> CutResult {
    let whole = value.to_string();
    let size = value.as_str().map_or(whole.len(), str::len);
    if size <= most {
        return CutResult { value, kept: None };
    }
    let hint = format!("the whole result: {READ_RESULT} with handle \"{handle}\"");
    let value = match value {
        Value::String(text) => cut_text(&text, &hint, most),
        Value::Array(elements) => cut_list(elements, &hint, most),
        _ => cut_object(&whole, &hint, most),
    };
    CutResult { value, kept: Some(whole) }
}

fn cut_text(text: &str, hint: &str, most: usize) -> Value {
    // The figure in the suffix has at most as many digits as the limit.
    let suffix =
        |shown: usize| format!("\n[truncated: {shown} of {} bytes shown; {hint}]", text.len());
    let room = most - suffix(most).len();
    let shown = &text[..text.floor_char_boundary(room)];
    Value::String(format!("{shown}{}", suffix(shown.len())))
}

fn cut_list(elements: Vec<Value>, hint: &str, most: usize) -> Value {
    let total = elements.len();
    let sentinel =
        |shown: usize| json!(format!("[truncated: {shown} of {total} elements shown; {hint}]"));
    let mut room = most - sentinel(total).to_string().len() - "[]".len();
    let fits = |element: &Value| {
        let size = element.to_string().len() + ",".len();
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    };
    let mut shown: Vec<Value> = elements.into_iter().take_while(fits).collect();
    shown.push(sentinel(shown.len()));
    Value::Array(shown)
}

fn cut_object(whole: &str, hint: &str, most: usize) -> Value {
    let envelope = |shown: &str| {
        let note = format!("{} of {} bytes shown; {hint}", shown.len(), whole.len());
        json!({ "_truncated_json": shown, "_note": note })
    };
    let mut shown = whole;
    loop {
        let value = envelope(shown);
        let size = value.to_string().len();
        if size <= most {
            return value;
        }
        // Escaping makes a text longer by an unknown amount, at most sixfold.
        let surplus = (size - most).div_ceil(6);
        shown = &shown[..shown.floor_char_boundary(shown.len().saturating_sub(surplus))];
    }
}

#[cfg(test)]
#[path = "truncate_tests.rs"]
mod tests;
