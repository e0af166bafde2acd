//! Reads the schema of a table.

use avocet_protocol::daemon::FormChoice;
use serde_json::{Map, Value};

use crate::registry::{KINDS, OPTIONAL};

/// Returns the description of a schema.
pub(super) fn about_of(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// Returns the keys of a table and their schemas, also for an optional table; `null` for other types.
pub(super) fn properties_of(schema: &Value) -> &Value {
    let variants = variants_of(schema);
    let inner = variants.iter().map(|one| &one["properties"]).find(|inner| inner.is_object());
    inner.unwrap_or(&schema["properties"])
}

/// Returns the alternatives of a schema, except `null`; the schema itself if it has none.
pub(super) fn variants_of(schema: &Value) -> Vec<&Value> {
    let lists = ["anyOf", "oneOf"].into_iter().find_map(|name| schema[name].as_array());
    match lists {
        Some(list) => {
            list.iter().filter(|one| one["type"] != "null").flat_map(variants_of).collect()
        }
        None => vec![schema],
    }
}

/// Returns `true` if a missing table differs from an empty one.
pub(super) fn is_optional(schema: &Value) -> bool {
    schema[OPTIONAL] == true || properties_of(schema).is_object() && has_null(schema)
}

fn has_null(schema: &Value) -> bool {
    let variants = schema["anyOf"].as_array().into_iter().flatten();
    has_type(schema, "null") || variants.into_iter().any(|one| one["type"] == "null")
}

/// Returns the schema of the tables with free names in a table; `None` if it has none.
pub(super) fn entries_of(schema: &Value) -> Option<&Value> {
    let entry = &schema["additionalProperties"];
    (properties_of(entry).is_object() || kinds_of(entry).is_some()).then_some(entry)
}

/// Returns the schemas of tables by their key `kind`; `None` if they all have the same.
pub(super) fn kinds_of(entry: &Value) -> Option<&Map<String, Value>> {
    entry[KINDS].as_object()
}

/// Returns the schema of a rule if the table has a rule for each of its free names. A rule is a word, or
/// a table with a word for each case.
pub(super) fn rules_of(schema: &Value) -> Option<&Value> {
    let rule = &schema["additionalProperties"];
    (!rule_choices(rule).is_empty()).then_some(rule)
}

/// Returns the words of a rule.
pub(super) fn rule_choices(rule: &Value) -> Vec<FormChoice> {
    let words = choices_of(rule);
    if words.is_empty() { choices_of(&properties_of(rule)["default"]) } else { words }
}

/// Returns the schema of a table that is written as the value of its first key.
pub(super) fn short_form_of(schema: &Value) -> &Value {
    let first = properties_of(schema).as_object().and_then(|keys| keys.values().next());
    first.unwrap_or(schema)
}

/// Returns `true` if a value of the type fits the schema.
pub(super) fn has_variant(schema: &Value, kind: &str) -> bool {
    variants_of(schema).into_iter().any(|one| has_type(one, kind))
}

pub(super) fn has_type(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    }
}

/// Returns the values of an enumeration of words; empty for other types.
pub(super) fn choices_of(schema: &Value) -> Vec<FormChoice> {
    let mut choices = Vec::new();
    for variant in variants_of(schema) {
        let words = variant["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        choices
            .extend(words.map(|word| FormChoice { value: word.to_owned(), help: String::new() }));
        if let Some(word) = variant["const"].as_str() {
            choices.push(FormChoice { value: word.to_owned(), help: about_of(variant) });
        }
    }
    choices
}
