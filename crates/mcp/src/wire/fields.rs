//! Reads single fields whose types are not those of the specification.

use serde_json::{Map, Value};

/// Reads the number of one of our requests: a whole number, perhaps as a float or as text.
pub(super) fn as_id(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| whole_number(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Returns a float as a whole number, if it is one.
fn whole_number(number: f64) -> Option<i64> {
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    is_whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Reads the code of an error, which has 32 bits.
pub(super) fn as_code(value: &Value) -> Option<i64> {
    as_id(value).filter(|code| i32::try_from(*code).is_ok())
}

/// Reads a number, perhaps as text.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// Reads a text. Numbers and booleans become texts, other values their JSON. `None` for `null`.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Reads a text that has to be one: other values than numbers and booleans are absent.
pub(super) fn as_plain_text(value: &Value) -> Option<String> {
    as_text(value).filter(|_| !value.is_object() && !value.is_array())
}

/// Reads a boolean, perhaps as text or as a number.
pub(super) fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(bool) => Some(*bool),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" | "" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn text_field(object: &Map<String, Value>, key: &str) -> Option<Value> {
    object.get(key).and_then(as_plain_text).map(Value::String)
}

/// Returns an object of the fields that have values.
pub(super) fn present_fields<const N: usize>(
    fields: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields.filter_map(|(key, value)| value.map(|value| (key.to_owned(), value))).collect()
}

/// Returns the entries of a list. A single value is a list of itself, `null` an empty one.
pub(super) fn as_list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        single => vec![single],
    }
}
