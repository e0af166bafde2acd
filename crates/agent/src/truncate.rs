//! Results are cut to what a model is given at once; the rest is kept and can be read by handle.

use serde_json::{Value, json};

/// The largest result that a model is given at once, in bytes.
pub const MAX_RESULT_BYTES: usize = 65_536;

/// A result as the model is given it, and the whole of it as JSON text where that is not the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    pub(crate) value: Value,
    pub(crate) kept: Option<String>,
}

/// Cuts a result by its type: a text gets a suffix, a list a last element, an object an envelope,
/// each of which says how to read the rest.
pub(crate) fn cut(value: Value, handle: &str) -> Cut {
    let whole = value.to_string();
    let size = value.as_str().map_or(whole.len(), str::len);
    if size <= MAX_RESULT_BYTES {
        return Cut { value, kept: None };
    }
    let hint = format!("the whole result: read_result with handle \"{handle}\"");
    let value = match value {
        Value::String(text) => cut_text(&text, &hint),
        Value::Array(elements) => cut_list(elements, &hint),
        _ => cut_object(&whole, &hint),
    };
    Cut { value, kept: Some(whole) }
}

fn cut_text(text: &str, hint: &str) -> Value {
    // The figure in the suffix has at most as many digits as the limit.
    let suffix =
        |shown: usize| format!("\n[truncated: {shown} of {} bytes shown; {hint}]", text.len());
    let room = MAX_RESULT_BYTES - suffix(MAX_RESULT_BYTES).len();
    let shown = &text[..text.floor_char_boundary(room)];
    Value::String(format!("{shown}{}", suffix(shown.len())))
}

fn cut_list(elements: Vec<Value>, hint: &str) -> Value {
    let total = elements.len();
    let sentinel =
        |shown: usize| json!(format!("[truncated: {shown} of {total} elements shown; {hint}]"));
    let mut room = MAX_RESULT_BYTES - sentinel(total).to_string().len() - "[]".len();
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

fn cut_object(whole: &str, hint: &str) -> Value {
    let envelope = |shown: &str| {
        let note = format!("{} of {} bytes shown; {hint}", shown.len(), whole.len());
        json!({ "_truncated_json": shown, "_note": note })
    };
    let mut shown = whole;
    loop {
        let value = envelope(shown);
        let size = value.to_string().len();
        if size <= MAX_RESULT_BYTES {
            return value;
        }
        // Escaping makes a text longer by an unknown amount, at most sixfold.
        let surplus = (size - MAX_RESULT_BYTES).div_ceil(6);
        shown = &shown[..shown.floor_char_boundary(shown.len().saturating_sub(surplus))];
    }
}

#[cfg(test)]
#[path = "truncate_tests.rs"]
mod tests;
