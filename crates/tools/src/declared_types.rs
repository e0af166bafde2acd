//! Reads arguments in the types that a tool's schema declares. Models write `"1"` for `1`, and one
//! value for a list of one. Only a value with a single possible reading changes; the validator
//! refuses all others.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

/// Maximum nesting depth of values that are read.
const DEEPEST: usize = 16;
/// The largest whole number that a float holds exactly: 2^53.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the arguments in the types of the schema. Optional arguments without a value are left out.
pub(crate) fn read_as_declared<'a>(
    schema: &Value,
    given: Cow<'a, Map<String, Value>>,
) -> Cow<'a, Map<String, Value>> {
    match read_object(schema, &given, 0) {
        Some(read) => Cow::Owned(read),
        None => given,
    }
}

/// An object with its values in the types of the schema; `None` if nothing changes.
fn read_object(
    schema: &Value,
    given: &Map<String, Value>,
    depth: usize,
) -> Option<Map<String, Value>> {
    let properties = schema["properties"].as_object()?;
    let mut read: Option<Map<String, Value>> = None;
    for (name, value) in given {
        let Some(property) = properties.get(name) else { continue };
        if is_absent(value, property) && !is_required(schema, name) {
            read.get_or_insert_with(|| given.clone()).remove(name);
        } else if let Some(value) = read_value(property, value, depth + 1) {
            read.get_or_insert_with(|| given.clone()).insert(name.clone(), value);
        }
    }
    read
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name))
}

/// Returns `true` if a value of an optional argument stands for none: `null`, and `""` where no
/// text is expected.
fn is_absent(value: &Value, property: &Value) -> bool {
    let choices = schema_alternatives(property);
    let has_kind = choices.iter().any(|choice| !declared_kinds(choice).is_empty());
    let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    has_kind && is_empty && !choices.iter().any(|choice| fits_schema(value, choice))
}

/// A value in the type of its schema; `None` if it stays the same.
fn read_value(schema: &Value, value: &Value, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    let choices = schema_alternatives(schema);
    if let Some(choice) = choices.iter().find(|choice| fits_schema(value, choice)) {
        return read_inside(choice, value, depth);
    }
    let mut readings = Vec::new();
    for choice in choices {
        for kind in declared_kinds(choice) {
            let reading = convert_value(kind, choice, value, depth);
            readings.extend(reading.filter(|reading| fits_schema(reading, choice)));
        }
    }
    match readings.len() {
        1 => readings.pop(),
        _ => None,
    }
}

/// The alternatives of a schema, or the schema itself.
fn schema_alternatives(schema: &Value) -> Vec<&Value> {
    let alternatives = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    alternatives.map_or_else(|| vec![schema], |all| all.iter().collect())
}

/// The declared types of a schema, without `null`.
fn declared_kinds(schema: &Value) -> Vec<&str> {
    let all = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|kind| *kind != "null").collect()
}

/// Returns `true` if a value has a type that the schema declares, or if the schema declares none.
fn fits_schema(value: &Value, schema: &Value) -> bool {
    if value.is_null() {
        let is_null = |kind: &Value| kind == "null";
        let kinds = &schema["type"];
        return is_null(kinds) || kinds.as_array().is_some_and(|all| all.iter().any(is_null));
    }
    let kinds = declared_kinds(schema);
    (kinds.is_empty() && schema["type"].is_null())
        || kinds.into_iter().any(|kind| match kind {
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        })
}

/// The values inside of a list or an object in their types; `None` if nothing changes.
fn read_inside(schema: &Value, value: &Value, depth: usize) -> Option<Value> {
    match value {
        Value::Object(object) => read_object(schema, object, depth).map(Value::Object),
        Value::Array(values) => {
            let items = &schema["items"];
            let read: Vec<_> =
                values.iter().map(|value| read_value(items, value, depth + 1)).collect();
            read.iter().any(Option::is_some).then(|| {
                let kept = read.into_iter().zip(values);
                Value::Array(kept.map(|(read, kept)| read.unwrap_or(kept.clone())).collect())
            })
        }
        _ => None,
    }
}

/// The reading of a value of another type as this type.
fn convert_value(kind: &str, schema: &Value, value: &Value, depth: usize) -> Option<Value> {
    match (kind, value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("integer", Value::Number(number)) => as_integer(number),
        ("integer", Value::String(text)) => as_integer(&number_in(text)?),
        ("number", Value::String(text)) => number_in(text).map(Value::Number),
        ("boolean", Value::String(text)) => match text.trim() {
            text if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            text if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            _ => None,
        },
        ("object", Value::String(text)) => json_in(text, '{', schema, depth),
        ("array", Value::String(text)) if text.trim_start().starts_with('[') => {
            json_in(text, '[', schema, depth)
        }
        ("array", value) => {
            let items = &schema["items"];
            let has_kind =
                schema_alternatives(items).iter().any(|choice| !declared_kinds(choice).is_empty());
            let one = read_value(items, value, depth + 1).unwrap_or_else(|| value.clone());
            let is_one = has_kind
                && schema_alternatives(items).iter().any(|choice| fits_schema(&one, choice));
            is_one.then(|| Value::Array(vec![one]))
        }
        _ => None,
    }
}

/// The JSON in a text that begins with this bracket.
fn json_in(text: &str, bracket: char, schema: &Value, depth: usize) -> Option<Value> {
    let text = text.trim();
    let value: Value = text.starts_with(bracket).then(|| serde_json::from_str(text).ok())??;
    Some(read_inside(schema, &value, depth).unwrap_or(value))
}

fn number_in(text: &str) -> Option<Number> {
    let text = text.trim();
    let digits = text.strip_prefix('+').unwrap_or(text);
    digits.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(())?;
    serde_json::from_str(digits).ok()
}

/// A whole number, also if it is written as `3.0`.
fn as_integer(number: &Number) -> Option<Value> {
    if number.is_i64() || number.is_u64() {
        return Some(Value::Number(number.clone()));
    }
    let float = number.as_f64()?;
    let is_exact = float.fract() == 0.0 && float.abs() < LARGEST_EXACT;
    is_exact.then(|| format!("{float:.0}").parse::<i64>().ok().map(Value::from))?
}

#[cfg(test)]
#[path = "declared_types_tests.rs"]
mod tests;
