//! The JSON Schema of a tool's arguments, made from their type. The model sees it, and the registry
//! validates calls with it.

use avocet_protocol::access::Trust;
use avocet_protocol::tool::UNTRUSTED_TOOL;
use avocet_text::append_text;
use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Keys that are useless to a model.
const NOISE: [&str; 4] = ["$schema", "title", "format", "default"];

/// The least similarity for a "did you mean" hint, from 0 to 1.
pub(crate) const ALIKE: f64 = 0.8;

/// The JSON Schema of an arguments type, as small as possible without loss of meaning.
pub(crate) fn schema_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    simplify_schema(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        // Redundant: the tool has its own description.
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        object.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

/// Prepares the schema of a tool of another program: an object, without our own `x-` keys. With low
/// trust, it carries the mark of an untrusted description.
pub(crate) fn of_server(mut schema: Value, trust: Trust) -> Value {
    without_own_keys(&mut schema);
    let mut object = match schema {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.remove("$schema");
    object.insert("type".to_owned(), "object".into());
    object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if trust < Trust::Full {
        object.insert(UNTRUSTED_TOOL.to_owned(), true.into());
    }
    Value::Object(object)
}

/// Removes the keys that have a meaning for this program. Properties may have any name.
fn without_own_keys(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, _| !key.starts_with("x-"));
            for (key, value) in object.iter_mut() {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.values_mut().for_each(without_own_keys);
                    }
                    (_, value) => without_own_keys(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(without_own_keys),
        _ => {}
    }
}

fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // Keys of `properties` are argument names and must stay.
            for (key, value) in object.iter_mut() {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.values_mut().for_each(simplify_schema);
                    }
                    (_, value) => simplify_schema(value),
                }
            }
            object.retain(|key, _| !NOISE.contains(&key.as_str()));
            without_null(object);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

/// Removes `null` from types: an optional argument is omitted instead.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
}

/// Keys that only limit values. A model that exceeds a limit is told so by the error.
const LIMITS: [&str; 7] = [
    "additionalProperties",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
];

/// The schema as a model gets it: without the limits of values, which are checked in any case.
pub(crate) fn schema_for_model(schema: &Value) -> Value {
    let Value::Object(object) = schema else { return schema.clone() };
    let kept = object.iter().filter(|(key, _)| !LIMITS.contains(&key.as_str()));
    let part = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(all)) => {
                all.iter().map(|(name, one)| (name.clone(), schema_for_model(one))).collect()
            }
            ("enum", Value::Array(all)) => {
                all.iter().filter(|one| !one.is_null()).cloned().collect()
            }
            (_, value) => schema_for_model(value),
        };
        (key.clone(), value)
    };
    kept.map(part).collect()
}

/// Describes faults of arguments and how to correct them; `None` if they are valid.
pub(crate) fn describe_faults(
    validator: &Validator,
    schema: &Value,
    given: &Map<String, Value>,
) -> Option<String> {
    let arguments = Value::Object(given.clone());
    let mut faults: Vec<String> = validator
        .iter_errors(&arguments)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = place.trim_start_matches('/');
            if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
        })
        .collect();
    if faults.is_empty() {
        return None;
    }
    faults.truncate(5);
    let meant = suggest_names(schema, given);
    Some(format!("{}.{meant} Expected: {}", faults.join("; "), describe_arguments(schema)))
}

/// Suggests arguments for names that the schema does not have.
fn suggest_names(schema: &Value, given: &Map<String, Value>) -> String {
    let own: Vec<&String> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
    let meant = given.keys().filter(|name| !own.contains(name)).filter_map(|name| {
        let alike = |own: &&&String| strsim::jaro_winkler(own, name) > ALIKE;
        let meant = own.iter().filter(|own| !given.contains_key(**own)).find(alike)?;
        Some(format!(" By {name}, did you mean {meant}?"))
    });
    meant.collect()
}

/// The type of an argument, or its values if there are few.
fn kind(property: &Value) -> String {
    let values = property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let values = values.map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(" or ");
    match (values.is_empty(), property["type"].as_str()) {
        (false, _) => values,
        (true, Some("array")) => format!("[{}]", kind(&property["items"])),
        (true, kind) => kind.unwrap_or("value").to_owned(),
    }
}

/// The arguments of a tool on one line: `{"path": string, "start_line": integer (optional)}`.
pub(crate) fn describe_arguments(schema: &Value) -> String {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name))
    };
    let mut line = String::from("{");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let comma = if line.len() > 1 { ", " } else { "" };
        let kind = kind(property);
        let optional = if required(name) { "" } else { " (optional)" };
        append_text(&mut line, format_args!("{comma}\"{name}\": {kind}{optional}"));
    }
    line.push('}');
    line
}
