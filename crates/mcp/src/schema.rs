//! The schema of a tool's arguments, as a server states it. One invalid schema would make a model's
//! provider refuse the requests with all tools.

use serde_json::{Map, Value, json};

/// The types of JSON Schema (draft 2020-12, "type").
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// Names of types in other languages, and those of JSON Schema.
const OTHER_TYPES: [(&str, &str); 10] = [
    ("int", "integer"),
    ("long", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("str", "string"),
    ("text", "string"),
    ("bool", "boolean"),
    ("dict", "object"),
    ("map", "object"),
    ("list", "array"),
];
/// The keys whose values are numbers.
const NUMBERS: [&str; 11] = [
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "exclusiveMaximum",
    "exclusiveMinimum",
];
/// The keys whose values are texts.
const TEXTS: [&str; 8] =
    ["$comment", "$id", "$ref", "$schema", "description", "format", "pattern", "title"];
/// The keys whose values are schemas by name.
const BY_NAME: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// The keys whose value is one schema.
const SINGLE: [&str; 7] =
    ["additionalProperties", "contains", "else", "if", "not", "propertyNames", "then"];
/// The keys whose values are lists of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// The deepest schema that is mended.
const DEEPEST: usize = 64;
/// The most further faults that are removed.
const MOST_FAULTS: usize = 100;
/// The part of the address of every known version of JSON Schema.
const KNOWN_VERSIONS: &str = "json-schema.org/";

/// A schema that was read.
#[derive(Debug, PartialEq)]
pub(crate) enum ToolSchema {
    /// An object that is a valid schema.
    Usable(Value),
    /// The reason, as a part of a sentence.
    Unusable(String),
}

/// Reads the schema of a tool. A valid one stays as it is. A missing one permits any arguments. In an
/// invalid one, the keys with wrong values are left out.
pub(crate) fn read_schema(schema: Value) -> ToolSchema {
    use ToolSchema::{Unusable, Usable};
    let schema = match schema {
        Value::Null | Value::Bool(true) => return Usable(json!({"type": "object"})),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Value::Object(object),
            _ => return Unusable("it is a text".to_owned()),
        },
        object @ Value::Object(_) => object,
        Value::Bool(false) => return Unusable("it is false".to_owned()),
        Value::Number(_) => return Unusable("it is a number".to_owned()),
        Value::Array(_) => return Unusable("it is a list".to_owned()),
    };
    if fault_of(&schema).is_none() {
        return Usable(schema);
    }
    let mut mended = schema;
    mend_schema(&mut mended, 0);
    let root = mended.clone();
    remove_lost_references(&mut mended, &root, 0);
    for _ in 0..MOST_FAULTS {
        let Some(place) = place_of_fault(&mended) else { break };
        remove_at(&mut mended, &place);
    }
    match fault_of(&mended) {
        None => Usable(mended),
        Some(fault) => Unusable(fault),
    }
}

/// Returns the place of the next fault, as a JSON pointer (RFC 6901); `None` without a fault, and for one
/// of the whole schema.
fn place_of_fault(schema: &Value) -> Option<String> {
    let error = jsonschema::validator_for(schema).err()?;
    let place = error.instance_path().to_string();
    (!place.is_empty()).then_some(place)
}

fn remove_at(schema: &mut Value, place: &str) {
    let Some((parent, key)) = place.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match schema.pointer_mut(parent) {
        Some(Value::Object(object)) => drop(object.remove(&key)),
        Some(Value::Array(values)) => {
            let at = key.parse().ok().filter(|at| *at < values.len());
            if let Some(at) = at {
                values.remove(at);
            }
        }
        _ => {}
    }
}

/// Removes references that lead nowhere, such as `#/components/schemas/Pet` of a description in
/// `OpenAPI`. The value then takes any form.
fn remove_lost_references(schema: &mut Value, root: &Value, depth: usize) {
    if depth > DEEPEST * 2 {
        return;
    }
    match schema {
        Value::Object(object) => {
            let target = object.get("$ref").and_then(Value::as_str);
            let leads_on = |target: &str| {
                let path = target.strip_prefix('#');
                path.is_some_and(|path| root.pointer(&decoded_pointer(path)).is_some())
            };
            if target.is_some_and(|target| !leads_on(target)) {
                object.remove("$ref");
            }
            object.values_mut().for_each(|one| remove_lost_references(one, root, depth + 1));
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|one| remove_lost_references(one, root, depth + 1));
        }
        _ => {}
    }
}

/// Decodes the characters of a pointer that a URI has to escape (RFC 6901, section 6).
fn decoded_pointer(path: &str) -> String {
    [("%24", "$"), ("%20", " "), ("%7B", "{"), ("%7D", "}"), ("%3C", "<"), ("%3E", ">")]
        .iter()
        .fold(path.to_owned(), |path, (escaped, plain)| path.replace(escaped, plain))
}

/// Returns the fault of an invalid schema. The arguments of a tool are an object, so another type at the
/// top is one, too.
fn fault_of(schema: &Value) -> Option<String> {
    let is_object = match schema.get("type") {
        None => true,
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(name) => name == "object",
    };
    if !is_object {
        return Some(format!("its type is {}, and not \"object\"", schema["type"]));
    }
    jsonschema::validator_for(schema).err().map(|error| error.to_string())
}

fn mend_schema(schema: &mut Value, depth: usize) {
    let Value::Object(object) = schema else { return };
    if depth > DEEPEST {
        object.clear();
        return;
    }
    object.retain(|key, value| has_possible_value(key, value));
    if let Some(name) = object.get_mut("type") {
        mend_type(name);
        if name.is_null() {
            object.remove("type");
        }
    }
    if let Some(Value::Array(names)) = object.get_mut("required") {
        names.retain(Value::is_string);
        let mut known = Vec::new();
        names.retain(|name| {
            !known.contains(name) && {
                known.push(name.clone());
                true
            }
        });
    }
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            (key, Value::Object(named)) if BY_NAME.contains(&key) => mend_named(named, depth),
            (key, Value::Array(list)) if LISTS.contains(&key) || key == "items" => {
                list.retain(is_schema);
                list.iter_mut().for_each(|one| mend_schema(one, depth + 1));
            }
            (key, value) if SINGLE.contains(&key) || key == "items" => {
                mend_schema(value, depth + 1);
            }
            _ => {}
        }
    }
}

fn mend_named(named: &mut Map<String, Value>, depth: usize) {
    for schema in named.values_mut() {
        if !is_schema(schema) {
            // A property without a usable schema takes any value.
            *schema = json!({});
        }
        mend_schema(schema, depth + 1);
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Returns `true` if a key of a schema can have this value. Unknown keys can have any.
fn has_possible_value(key: &str, value: &Value) -> bool {
    match key {
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "items" => is_schema(value) || value.is_array(),
        "required" => value.is_array(),
        "uniqueItems" => value.is_boolean(),
        "$schema" => value.as_str().is_some_and(|name| name.contains(KNOWN_VERSIONS)),
        key if NUMBERS.contains(&key) => value.is_number(),
        key if TEXTS.contains(&key) => value.is_string(),
        key if BY_NAME.contains(&key) => value.is_object(),
        key if SINGLE.contains(&key) => is_schema(value),
        key if LISTS.contains(&key) => {
            value.as_array().is_some_and(|list| list.iter().any(is_schema))
        }
        _ => true,
    }
}

/// Replaces the names of types by those of JSON Schema. `null` if none is left.
fn mend_type(name: &mut Value) {
    let known = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        let other = OTHER_TYPES.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
        other.or_else(|| TYPES.iter().find(|own| **own == name).copied())
    };
    *name = match name {
        Value::String(text) => known(text).map_or(Value::Null, Value::from),
        Value::Array(names) => {
            let mut types: Vec<&str> =
                names.iter().filter_map(Value::as_str).filter_map(known).collect();
            types.sort_unstable();
            types.dedup();
            if types.is_empty() { Value::Null } else { json!(types) }
        }
        _ => Value::Null,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_schema_mends_what_is_invalid_and_keeps_the_rest() {
        let object = json!({"type": "object"});
        for (stated, expected) in [
            (json!(null), object.clone()),
            (json!(true), object.clone()),
            (json!("{\"type\": \"object\"}"), object.clone()),
            (json!({}), json!({})),
            // A valid schema stays as it is, also with unknown keys.
            (
                json!({"type": "object", "x": [1], "title": "T"}),
                json!({"type": "object", "x": [1], "title": "T"}),
            ),
            (json!({"type": "object", "properties": null}), object.clone()),
            (json!({"type": "object", "properties": []}), object.clone()),
            (json!({"type": "object", "required": true}), object.clone()),
            (
                json!({"type": "object", "required": ["a", 1, "a"]}),
                json!({"type": "object", "required": ["a"]}),
            ),
            (json!({"type": "dict"}), object.clone()),
            (json!({"type": null}), json!({})),
            (
                json!({"type": "object", "properties": {"a": {"type": "str", "minLength": null}, "b": null, "c": {"type": "any"}}}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {}}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "list", "items": {"type": "int"}, "required": false}}}),
                json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}),
            ),
        ] {
            assert_eq!(read_schema(stated.clone()), ToolSchema::Usable(expected), "{stated}");
        }
    }

    #[test]
    fn read_schema_leaves_out_the_keys_of_every_other_fault() {
        for (key, value, expected) in [
            ("pattern", json!("(?P<x"), json!({"type": "string"})),
            ("pattern", json!("[a-"), json!({"type": "string"})),
            ("minLength", json!(-1), json!({"type": "string"})),
            ("minLength", json!(1.5), json!({"type": "string"})),
            ("multipleOf", json!(0), json!({"type": "string"})),
            ("$ref", json!("#/components/schemas/Pet"), json!({"type": "string"})),
            ("$ref", json!("https://example.org/pet.json"), json!({"type": "string"})),
            ("$ref", json!("Pet"), json!({"type": "string"})),
            ("items", json!([{"type": "int"}, {"pattern": "("}]), json!({"type": "string"})),
        ] {
            let stated = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": {"a": {"type": "string", key: value}, "b": {"pattern": "^x"}}});
            let ToolSchema::Usable(read) = read_schema(stated.clone()) else { panic!("{stated}") };
            assert_eq!(
                read["properties"],
                json!({"a": expected, "b": {"pattern": "^x"}}),
                "{stated}"
            );
        }
        // At the top, and beside references that lead on.
        for (stated, expected) in [
            (
                json!({"$schema": "https://example.org/x", "type": "object"}),
                json!({"type": "object"}),
            ),
            (json!({"$ref": "#/nowhere"}), json!({})),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}}, "$defs": {"A": {"type": "string"}}}),
                json!({"properties": {"a": {"$ref": "#/$defs/A"}, "b": {}}, "$defs": {"A": {"type": "string"}}}),
            ),
        ] {
            assert_eq!(read_schema(stated.clone()), ToolSchema::Usable(expected), "{stated}");
        }
    }

    #[test]
    fn read_schema_states_why_a_schema_is_unusable() {
        for (stated, why) in [
            (json!([]), "it is a list"),
            (json!(3), "it is a number"),
            (json!("object"), "it is a text"),
            (json!({"type": "string"}), "its type is \"string\", and not \"object\""),
        ] {
            assert_eq!(read_schema(stated), ToolSchema::Unusable(why.to_owned()));
        }
    }
}
