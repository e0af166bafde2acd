//! Checks the parameters of a function against the API's subset of JSON Schema.

use serde_json::Value;

use super::{GeminiRefusal, check_fields, invalid};

/// The fields that a schema may have.
const FIELDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// Checks all parameters of a function.
pub(super) fn check_parameters(schema: &Value, here: &str) -> Result<(), GeminiRefusal> {
    check(schema, here)?;
    match kind(schema).as_str() {
        "OBJECT" => Ok(()),
        _ => refused(here, "", "functionDeclaration parameters schema should be of type OBJECT."),
    }
}

fn kind(schema: &Value) -> String {
    schema["type"].as_str().unwrap_or_default().to_uppercase()
}

fn refused<T>(here: &str, field: &str, says: &str) -> Result<T, GeminiRefusal> {
    Err(invalid(format!("* GenerateContentRequest.{here}{field}: {says}\n")))
}

fn check(schema: &Value, here: &str) -> Result<(), GeminiRefusal> {
    check_fields(schema, &FIELDS, here)?;
    if let Some(forms) = schema["anyOf"].as_array() {
        return check_forms(schema, forms, here);
    }
    let kind = kind(schema);
    match kind.as_str() {
        "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" => {}
        "" if schema["type"].is_array() => {
            return Err(invalid(format!(
                "Proto field is not repeating, cannot start list at '{here}.type'."
            )));
        }
        "" => return refused(here, ".type", "must be specified"),
        _ => {
            let says = format!("Invalid value at '{here}.type' (TYPE_ENUM), {}", schema["type"]);
            return Err(invalid(says));
        }
    }
    check_of_kind(schema, &kind, here)?;
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        check(property, &format!("{here}.properties[{name}]"))?;
    }
    Ok(())
}

fn check_forms(schema: &Value, forms: &[Value], here: &str) -> Result<(), GeminiRefusal> {
    let beside = ["type", "properties", "items", "enum", "minimum", "maximum"];
    if beside.iter().any(|field| schema.get(field).is_some()) {
        return refused(here, "", "when using any_of, it must be the only field set.");
    }
    for (number, form) in forms.iter().enumerate() {
        check(form, &format!("{here}.any_of[{number}]"))?;
    }
    Ok(())
}

/// Checks the fields that depend on the type.
fn check_of_kind(schema: &Value, kind: &str, here: &str) -> Result<(), GeminiRefusal> {
    let has = |field: &str| schema.get(field).is_some();
    if kind != "OBJECT" {
        for field in ["properties", "required"] {
            if has(field) {
                return refused(here, &format!(".{field}"), "only allowed for OBJECT type");
            }
        }
    }
    if has("enum") && (kind != "STRING" || !is_words(&schema["enum"])) {
        return refused(here, ".enum", "only allowed for STRING type");
    }
    let words = schema["enum"].as_array();
    if let Some(number) = words.and_then(|words| words.iter().position(|word| word == "")) {
        return refused(here, &format!(".enum[{number}]"), "cannot be empty");
    }
    let format = schema["format"].as_str().unwrap_or("enum");
    if kind == "STRING" && !["enum", "date-time"].contains(&format) {
        let says = "only 'enum' and 'date-time' are supported for STRING type";
        return refused(here, ".format", says);
    }
    if kind == "ARRAY" {
        return match schema.get("items") {
            None => refused(here, ".items", "missing field."),
            Some(items) => check(items, &format!("{here}.items")),
        };
    }
    if kind == "OBJECT" { check_object(schema, here) } else { Ok(()) }
}

fn check_object(schema: &Value, here: &str) -> Result<(), GeminiRefusal> {
    let properties = schema["properties"].as_object();
    if properties.is_none_or(serde_json::Map::is_empty) {
        return refused(here, ".properties", "should be non-empty for OBJECT type");
    }
    for (number, name) in schema["required"].as_array().into_iter().flatten().enumerate() {
        let name = name.as_str().unwrap_or_default();
        if !properties.is_some_and(|properties| properties.contains_key(name)) {
            let field = format!(".required[{number}]");
            return refused(here, &field, "property is not defined");
        }
    }
    Ok(())
}

fn is_words(values: &Value) -> bool {
    values.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_string))
}
