//! The schema of a tool in the form that all providers of models take. The listed form stays as the
//! server wrote it: approvals cover that form, and the server checks the arguments by it.
//!
//! Providers refuse the request with all tools for one schema of these kinds:
//!
//! | listed | as offered |
//! |---|---|
//! | no `type`, or a list of types | `"type": "object"` |
//! | no `properties` | empty `properties` |
//! | `$ref` at the top | the keys of its target |
//! | `allOf`, `anyOf`, `oneOf` at the top | the properties of all parts |
//! | `enum`, `not`, `if` at the top | nothing |
//! | an array without `items`, or with a list of them | `items` that is one schema |

use serde_json::{Map, Value, json};

/// The lists of parts at the top that are merged.
const PARTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keys at the top that providers refuse.
const REFUSED: [&str; 5] = ["else", "enum", "if", "not", "then"];
/// The most references and parts inside each other at the top.
const DEEPEST: usize = 16;
/// The keys whose values are no schemas.
const PLAIN: [&str; 4] = ["const", "default", "enum", "examples"];

/// Returns the schema for providers. The result has the type `object` and properties.
pub(crate) fn for_providers(listed: &Value) -> Value {
    let mut whole = flatten_schema(listed, listed, 0);
    REFUSED.iter().for_each(|key| drop(whole.remove(*key)));
    whole.insert("type".to_owned(), json!("object"));
    if !whole.get("properties").is_some_and(Value::is_object) {
        whole.insert("properties".to_owned(), json!({}));
    }
    let mut whole = Value::Object(whole);
    complete_arrays(&mut whole);
    whole
}

/// Merges a schema with the target of its `$ref` and with its parts. A part that cannot be found adds
/// nothing.
fn flatten_schema(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    if depth > DEEPEST {
        return Map::new();
    }
    if let Some(Value::String(target)) = whole.remove("$ref") {
        let found = target.strip_prefix('#').and_then(|path| root.pointer(path));
        let part = found.map(|part| flatten_schema(part, root, depth + 1)).unwrap_or_default();
        add_part(&mut whole, part);
    }
    for key in PARTS {
        let Some(Value::Array(parts)) = whole.remove(key) else { continue };
        let parts = parts.iter().map(|part| flatten_schema(part, root, depth + 1)).collect();
        let both = if key == "allOf" { all_of(parts) } else { one_of(parts) };
        add_part(&mut whole, both);
    }
    whole
}

/// Merges schemas that all hold.
fn all_of(parts: Vec<Map<String, Value>>) -> Map<String, Value> {
    let mut whole = Map::new();
    for part in parts {
        add_part(&mut whole, part);
    }
    whole
}

/// Merges schemas of which one holds: a property is required if each of them requires it.
fn one_of(parts: Vec<Map<String, Value>>) -> Map<String, Value> {
    // A part `null` has no properties, and requires none.
    let required = parts.iter().map(|part| part.get("required").cloned().unwrap_or(json!([])));
    let required = required.reduce(|one, other| {
        let others = other.as_array().cloned().unwrap_or_default();
        one.as_array().into_iter().flatten().filter(|name| others.contains(name)).cloned().collect()
    });
    let mut properties = Map::new();
    for part in parts {
        let Some(Value::Object(more)) = part.get("properties").cloned() else { continue };
        for (name, schema) in more {
            add_alternative(&mut properties, name, schema);
        }
    }
    let required = required.filter(|names| names.as_array().is_some_and(|names| !names.is_empty()));
    let fields = [("properties", Some(Value::Object(properties))), ("required", required)];
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    fields.collect()
}

/// Adds a property that may have a form already.
fn add_alternative(properties: &mut Map<String, Value>, name: String, schema: Value) {
    let Some(known) = properties.get_mut(&name) else {
        properties.insert(name, schema);
        return;
    };
    if *known == schema {
        return;
    }
    match known {
        Value::Object(object) if object.len() == 1 && object.contains_key("anyOf") => {
            if let Some(Value::Array(forms)) = object.get_mut("anyOf")
                && !forms.contains(&schema)
            {
                forms.push(schema);
            }
        }
        known => *known = json!({"anyOf": [known.take(), schema]}),
    }
}

/// Adds the keys of a part. Present keys win, but the properties and required names of both count.
fn add_part(whole: &mut Map<String, Value>, part: Map<String, Value>) {
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(Value::Object(own)), Value::Object(more)) => {
                for (name, schema) in more {
                    own.entry(name).or_insert(schema);
                }
            }
            (Some(Value::Array(own)), Value::Array(more)) if key == "required" => {
                let new: Vec<Value> = more.into_iter().filter(|name| !own.contains(name)).collect();
                own.extend(new);
            }
            (Some(_), _) => {}
            (None, value) => drop(whole.insert(key, value)),
        }
    }
}

/// Gives each array one schema for its items.
fn complete_arrays(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let is_array = match object.get("type") {
                Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
                Some(name) => name == "array",
                None => false,
            };
            match object.get_mut("items") {
                Some(Value::Array(forms)) => {
                    let forms = std::mem::take(forms);
                    let items = if forms.is_empty() { json!({}) } else { json!({"anyOf": forms}) };
                    object.insert("items".to_owned(), items);
                }
                None if is_array => drop(object.insert("items".to_owned(), json!({}))),
                _ => {}
            }
            let schemas = object.iter_mut().filter(|(key, _)| !PLAIN.contains(&key.as_str()));
            schemas.for_each(|(_, value)| complete_arrays(value));
        }
        Value::Array(values) => values.iter_mut().for_each(complete_arrays),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_providers_makes_an_object_of_every_form_at_the_top() {
        let text = json!({"type": "string"});
        let both = json!({"type": "object", "properties": {"a": text, "b": text}});
        for (listed, expected) in [
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (
                json!({"type": ["object", "null"], "properties": {"a": text}}),
                json!({"type": "object", "properties": {"a": text}}),
            ),
            (json!({"properties": {"a": text, "b": text}}), both.clone()),
            (
                json!({"$ref": "#/definitions/X", "definitions": {"X": {"type": "object", "properties": {"a": text}, "required": ["a"]}}}),
                json!({"type": "object", "properties": {"a": text}, "required": ["a"],
                    "definitions": {"X": {"type": "object", "properties": {"a": text}, "required": ["a"]}}}),
            ),
            (json!({"$ref": "#"}), json!({"type": "object", "properties": {}})),
            (
                json!({"allOf": [{"properties": {"a": text}, "required": ["a"]}, {"properties": {"b": text}, "required": ["a", "b"]}]}),
                json!({"type": "object", "properties": {"a": text, "b": text}, "required": ["a", "b"]}),
            ),
            (
                json!({"type": "object", "anyOf": [
                    {"properties": {"a": text}, "required": ["a"]},
                    {"properties": {"b": text}, "required": ["b"]},
                ]}),
                both.clone(),
            ),
            (
                json!({"oneOf": [
                    {"properties": {"do": {"const": "add"}, "a": text}, "required": ["do", "a"]},
                    {"properties": {"do": {"const": "drop"}}, "required": ["do"]},
                    {"properties": {"do": {"const": "list"}}, "required": ["do"]},
                ]}),
                json!({"type": "object", "required": ["do"], "properties": {
                    "do": {"anyOf": [{"const": "add"}, {"const": "drop"}, {"const": "list"}]},
                    "a": text,
                }}),
            ),
            (
                json!({"type": "object", "properties": {"a": text, "b": text},
                    "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["a", "b"]},
                    "if": {}, "then": {}, "else": {}}),
                both.clone(),
            ),
            (
                json!({"anyOf": [{"type": "null"}, {"properties": {"a": text, "b": text}, "required": ["a"]}]}),
                both,
            ),
        ] {
            let offered = for_providers(&listed);
            assert_eq!(offered, expected, "{listed}");
            assert!(jsonschema::validator_for(&offered).is_ok(), "{listed}");
        }
    }

    #[test]
    fn for_providers_gives_each_array_items() {
        let listed = json!({"type": "object", "properties": {
            "a": {"type": "array"},
            "b": {"type": ["array", "null"], "default": [{"type": "array"}]},
            "c": {"type": "array", "items": [{"type": "string"}, {"type": "array"}]},
            "d": {"type": "array", "items": []},
            "type": {"type": "string"},
        }});
        let offered = for_providers(&listed);
        let expected = json!({
            "a": {"type": "array", "items": {}},
            "b": {"type": ["array", "null"], "default": [{"type": "array"}], "items": {}},
            "c": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}},
            "d": {"type": "array", "items": {}},
            "type": {"type": "string"},
        });
        assert_eq!(offered["properties"], expected);
    }
}
