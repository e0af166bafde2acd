//! Converts a tool's parameters to the subset of JSON Schema that the API supports (Gemini API
//! reference, "Schema"). The API refuses a request with anything else in a schema. It also refuses
//! objects without known properties; such an argument is requested as a string with JSON, and
//! parsed afterwards.

use avocet_protocol::tool::is_rare;
use serde_json::{Map, Value, json};

/// Keys that are copied unchanged, for any type.
const PLAIN: [&str; 4] = ["description", "nullable", "minimum", "maximum"];

/// Addition to the description of an object that is requested as text.
const AS_TEXT: &str = "A JSON object, as text.";

/// The converted parameters of a tool; `None` if they are empty.
pub(super) fn convert_parameters(schema: &Value) -> Option<Value> {
    let converted = SchemaConverter { root: schema }.convert_schema(schema, &[]);
    converted["properties"].is_object().then_some(converted)
}

/// The arguments of a call in the form of the tool: an argument that was requested as text is
/// parsed into its object.
pub(super) fn restore_arguments(
    schema: &Value,
    arguments: Map<String, Value>,
) -> Map<String, Value> {
    let converter = SchemaConverter { root: schema };
    match converter.restore_value(schema, Value::Object(arguments), &[]) {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    }
}

struct SchemaConverter<'s> {
    root: &'s Value,
}

impl SchemaConverter<'_> {
    /// Converts a schema. `within` are the references on the path to it. A type that contains
    /// itself is requested as text.
    fn convert_schema(&self, schema: &Value, within: &[String]) -> Value {
        let mut out = Map::new();
        let Some((whole, within)) = self.resolve_references(schema, within) else {
            return as_text(out);
        };
        let within = &within;
        for key in PLAIN {
            if let Some(value) = whole.get(key) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        let mut alternatives = alternatives_of(&whole);
        let without_null = alternatives.len();
        alternatives.retain(|alternative| alternative["type"] != "null");
        if alternatives.len() < without_null {
            out.insert("nullable".to_owned(), json!(true));
        }
        match &alternatives[..] {
            [] => self.of_type(&whole, out, within),
            [only] => {
                let Value::Object(only) = self.convert_schema(only, within) else {
                    return json!({});
                };
                let says = only.get("description").and_then(Value::as_str).unwrap_or_default();
                let is_text = says.ends_with(AS_TEXT) && out.contains_key("description");
                // The outer description and bounds replace those of the single alternative.
                let both = only.into_iter().chain(out).collect();
                if is_text { as_text(both) } else { Value::Object(both) }
            }
            several => {
                let several = several.iter().map(|one| self.convert_schema(one, within));
                // The API refuses bounds beside `anyOf`.
                out.retain(|key, _| key == "description" || key == "nullable");
                out.insert("anyOf".to_owned(), several.collect());
                Value::Object(out)
            }
        }
    }

    fn of_type(
        &self,
        whole: &Map<String, Value>,
        mut out: Map<String, Value>,
        within: &[String],
    ) -> Value {
        let kind = kind_of(whole);
        out.retain(|key, _| {
            !matches!(key.as_str(), "minimum" | "maximum") || matches!(kind, "integer" | "number")
        });
        match kind {
            "object" if properties_of(whole).is_none() => return as_text(out),
            "object" => self.add_properties(whole, &mut out, within),
            "array" => {
                let items = whole.get("items").cloned().unwrap_or_default();
                out.insert("items".to_owned(), self.convert_schema(&items, within));
                copy_bounds(whole, &mut out);
            }
            "string" => {
                out.extend(allowed_words(whole).map(|words| ("enum".to_owned(), words)));
            }
            _ => {}
        }
        with_type(out, kind)
    }

    /// Adds the properties of an object. `required` may list only existing properties.
    fn add_properties(
        &self,
        whole: &Map<String, Value>,
        out: &mut Map<String, Value>,
        within: &[String],
    ) {
        let Some(properties) = properties_of(whole) else { return };
        let required = whole.get("required").and_then(Value::as_array).into_iter().flatten();
        let is_there =
            |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
        let required: Vec<&Value> = required.filter(is_there).collect();
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        let shown = properties.iter().filter(|(_, one)| !is_rare(one));
        let converted = shown.map(|(name, one)| (name.clone(), self.convert_schema(one, within)));
        out.insert("properties".to_owned(), Value::Object(converted.collect()));
    }

    /// Converts a value that answers the converted schema back to the original schema.
    fn restore_value(&self, schema: &Value, value: Value, within: &[String]) -> Value {
        let Some((whole, within)) = self.resolve_references(schema, within) else {
            return object_in(value);
        };
        let mut forms = alternatives_of(&whole);
        forms.retain(|form| form["type"] != "null");
        if let [only] = &forms[..] {
            return self.restore_value(only, value, &within);
        }
        match (kind_of(&whole), value) {
            ("object", value) if forms.is_empty() && properties_of(&whole).is_none() => {
                object_in(value)
            }
            ("object", Value::Object(object)) => {
                let known = |name: &str| properties_of(&whole)?.get(name);
                let one = |(name, value): (String, Value)| match known(&name) {
                    Some(schema) => (name, self.restore_value(schema, value, &within)),
                    None => (name, value),
                };
                Value::Object(object.into_iter().map(one).collect())
            }
            ("array", Value::Array(values)) => {
                let items = whole.get("items").unwrap_or(&Value::Null);
                let one = |value| self.restore_value(items, value, &within);
                Value::Array(values.into_iter().map(one).collect())
            }
            (_, value) => value,
        }
    }

    /// Merges a schema with its references and its `allOf` parts. Also returns the references on
    /// the path; `None` if the schema contains itself.
    fn resolve_references(
        &self,
        schema: &Value,
        within: &[String],
    ) -> Option<(Map<String, Value>, Vec<String>)> {
        let mut whole = schema.as_object().cloned().unwrap_or_default();
        let mut within = within.to_vec();
        loop {
            let mut parts = Vec::new();
            if let Some(Value::String(target)) = whole.remove("$ref") {
                if within.contains(&target) {
                    return None;
                }
                parts.extend(target.strip_prefix('#').and_then(|path| self.root.pointer(path)));
                within.push(target);
            }
            let all_of = whole.remove("allOf");
            parts.extend(all_of.as_ref().and_then(Value::as_array).into_iter().flatten());
            if parts.is_empty() {
                return Some((whole, within));
            }
            for part in parts.into_iter().filter_map(Value::as_object) {
                merge_schema(&mut whole, part);
            }
        }
    }
}

/// Merges a part into a schema. Existing keys win, but properties of both are kept.
fn merge_schema(whole: &mut Map<String, Value>, part: &Map<String, Value>) {
    for (key, value) in part {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(more)) => {
                for (key, value) in more {
                    ours.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            (Some(Value::Array(ours)), Value::Array(more)) if key == "required" => {
                ours.extend(more.iter().cloned());
            }
            (Some(_), _) => {}
            (None, _) => drop(whole.insert(key.clone(), value.clone())),
        }
    }
}

/// The alternative forms of a value. If the type is known, alternatives only add details and are
/// ignored.
fn alternatives_of(whole: &Map<String, Value>) -> Vec<Value> {
    let listed = whole.get("anyOf").or_else(|| whole.get("oneOf")).and_then(Value::as_array);
    let kinds = match (whole.get("type"), listed) {
        (Some(Value::Array(kinds)), _) => kinds,
        (None, Some(listed)) if !whole.contains_key("properties") => return listed.clone(),
        _ => return Vec::new(),
    };
    let of_kind = |kind: &Value| {
        let mut one = whole.clone();
        one.remove("description");
        one.insert("type".to_owned(), kind.clone());
        Value::Object(one)
    };
    kinds.iter().map(of_kind).collect()
}

/// The type of a schema; `string` if it accepts anything.
fn kind_of(whole: &Map<String, Value>) -> &'static str {
    const KINDS: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
    let named = whole.get("type").and_then(Value::as_str).unwrap_or_default();
    let guessed = || match () {
        () if whole.contains_key("properties") => "object",
        () if whole.contains_key("items") => "array",
        () => "string",
    };
    KINDS.into_iter().find(|kind| *kind == named).unwrap_or_else(guessed)
}

/// The properties of an object; `None` if they are arbitrary.
fn properties_of(whole: &Map<String, Value>) -> Option<&Map<String, Value>> {
    whole.get("properties")?.as_object().filter(|properties| !properties.is_empty())
}

/// The schema of an object with arbitrary properties.
fn as_text(mut out: Map<String, Value>) -> Value {
    let said = out.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{said} {AS_TEXT}");
    out.insert("description".to_owned(), json!(description.trim_start()));
    with_type(out, "string")
}

/// Parses a JSON object out of a string; returns other values unchanged.
fn object_in(value: Value) -> Value {
    let object = value.as_str().map(serde_json::from_str::<Map<String, Value>>);
    object.and_then(Result::ok).map_or(value, Value::Object)
}

fn copy_bounds(whole: &Map<String, Value>, out: &mut Map<String, Value>) {
    for key in ["minItems", "maxItems"] {
        out.extend(whole.get(key).map(|bound| (key.to_owned(), bound.clone())));
    }
}

/// The allowed values of a string; `None` if it is arbitrary. Drops the empty one, because the API
/// refuses it and the argument can be left out.
fn allowed_words(whole: &Map<String, Value>) -> Option<Value> {
    let one = whole.get("const").map(|one| vec![one.clone()]);
    let all = whole.get("enum").and_then(Value::as_array).cloned().or(one)?;
    let words: Vec<Value> = all.into_iter().filter(|word| !word.is_null() && word != "").collect();
    (!words.is_empty() && words.iter().all(Value::is_string)).then_some(Value::Array(words))
}

fn with_type(mut out: Map<String, Value>, kind: &str) -> Value {
    out.insert("type".to_owned(), json!(kind));
    Value::Object(out)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
