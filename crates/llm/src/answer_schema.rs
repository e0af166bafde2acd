//! Adds the JSON Schema of an answer to a request body, in the form of each API.

use avocet_protocol::model::ModelRequest;
use serde_json::{Map, Value, json};

/// The name of the schema, which some APIs require.
const NAME: &str = "answer";
/// Keys that Anthropic's structured output refuses. Answers are validated against the whole schema.
const REFUSED: [&str; 12] = [
    "$schema",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "uniqueItems",
];

/// Writes the schema of an answer into a body.
pub(crate) type AddSchema = fn(&mut Map<String, Value>, &Value);

/// Returns the body with the schema of the request's answer; unchanged if any answer will do.
pub(crate) fn with_answer_schema(
    body: Vec<u8>,
    request: &ModelRequest,
    add: AddSchema,
) -> serde_json::Result<Vec<u8>> {
    let Some(schema) = &request.answer_schema else { return Ok(body) };
    let mut body: Map<String, Value> = serde_json::from_slice(&body)?;
    add(&mut body, schema);
    serde_json::to_vec(&body)
}

/// OpenAI API reference, "Create chat completion": `response_format`.
pub(crate) fn openai_chat(body: &mut Map<String, Value>, schema: &Value) {
    let schema = json!({ "name": NAME, "schema": schema });
    let format = json!({ "type": "json_schema", "json_schema": schema });
    body.insert("response_format".to_owned(), format);
}

/// OpenAI API reference, "Create a model response": `text.format`.
pub(crate) fn openai_responses(body: &mut Map<String, Value>, schema: &Value) {
    let format = json!({ "type": "json_schema", "name": NAME, "schema": schema, "strict": false });
    insert_into(body, "text", [("format", format)]);
}

/// Anthropic API reference, "Create a Message": `output_config.format`.
pub(crate) fn set_anthropic_schema(body: &mut Map<String, Value>, schema: &Value) {
    let format = json!({ "type": "json_schema", "schema": close_objects(schema) });
    insert_into(body, "output_config", [("format", format)]);
}

/// Gemini API reference, "GenerationConfig".
pub(crate) fn set_gemini_schema(body: &mut Map<String, Value>, schema: &Value) {
    let media_type = ("responseMimeType", json!("application/json"));
    insert_into(body, "generationConfig", [media_type, ("responseJsonSchema", schema.clone())]);
}

/// Ollama API, "Generate a chat completion": `format`.
pub(crate) fn set_ollama_schema(body: &mut Map<String, Value>, schema: &Value) {
    body.insert("format".to_owned(), schema.clone());
}

/// Inserts values into the object at `key`, which is made if it is missing.
fn insert_into<const N: usize>(
    body: &mut Map<String, Value>,
    key: &str,
    values: [(&str, Value); N],
) {
    let part = body.entry(key).or_insert(Value::Null);
    if !part.is_object() {
        *part = Value::Object(Map::new());
    }
    for (name, value) in values {
        part[name] = value;
    }
}

/// Returns the schema as Anthropic accepts it: without refused keys, and with objects that have the
/// named properties only.
fn close_objects(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let named = |value: &Value| match value {
        Value::Object(named) => Value::Object(
            named.iter().map(|(name, one)| (name.clone(), close_objects(one))).collect(),
        ),
        other => other.clone(),
    };
    let all = |value: &Value| match value {
        Value::Array(all) => Value::Array(all.iter().map(close_objects).collect()),
        other => close_objects(other),
    };
    let kept = schema.iter().filter(|(key, _)| !REFUSED.contains(&key.as_str()));
    let mut found: Map<String, Value> = kept
        .map(|(key, value)| {
            let value = match key.as_str() {
                "properties" | "$defs" | "definitions" => named(value),
                "items" | "anyOf" | "allOf" | "oneOf" | "prefixItems" => all(value),
                _ => value.clone(),
            };
            (key.clone(), value)
        })
        .collect();
    if found.get("type").is_some_and(|kind| kind == "object") || found.contains_key("properties") {
        found.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    Value::Object(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_schema_has_no_refused_keys_and_keeps_properties_of_their_names() {
        let schema = json!({
            "$schema": "x", "type": "object", "required": ["minimum"],
            "properties": {
                "minimum": { "type": "integer", "minimum": 1 },
                "list": { "type": "array", "maxItems": 3, "items": { "properties": {} } },
                "open": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": { "anyOf": [{ "type": "string", "pattern": "a" }, { "$ref": "#/$defs/d" }] },
            },
            "$defs": { "d": { "const": { "maximum": 1 } } },
        });
        let expected = json!({
            "type": "object", "required": ["minimum"], "additionalProperties": false,
            "properties": {
                "minimum": { "type": "integer" },
                "list": { "type": "array",
                    "items": { "properties": {}, "additionalProperties": false } },
                "open": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/d" }] },
            },
            "$defs": { "d": { "const": { "maximum": 1 } } },
        });
        assert_eq!(close_objects(&schema), expected);
    }

    #[test]
    fn add_schema_keeps_the_other_options_of_the_same_part() {
        let mut body = Map::from_iter([("output_config".to_owned(), json!({ "effort": "low" }))]);
        set_anthropic_schema(&mut body, &json!({ "type": "string" }));
        let format = json!({ "type": "json_schema", "schema": { "type": "string" } });
        assert_eq!(body["output_config"], json!({ "effort": "low", "format": format }));
    }
}
