//! The fields of a table, from the schema of its type.

use avocet_config::is_for_secrets;
use avocet_protocol::daemon::{FormChoice, FormField, FormInput};
use serde_json::Value;

use super::shapes::{
    about_of, choices_of, has_type, has_variant, rule_choices, rules_of, variants_of,
};
use crate::components::config_text::has_secret;

/// Keys whose texts usually have several lines.
const LONG_TEXTS: [&str; 3] = ["prompt", "task", "text"];

/// The place of a key, and its value in the text.
pub(super) struct FieldSource<'v> {
    pub(super) key: String,
    pub(super) path: String,
    /// The name within the table of the form; empty if the table itself has the value.
    pub(super) name: String,
    pub(super) value: &'v Value,
}

/// Describes a key.
pub(super) fn field_of(source: FieldSource<'_>, property: &Value) -> FormField {
    let FieldSource { key, path, name, value } = source;
    let (input, choices) = input_of(&path, &name, property);
    let is_pairs = input == FormInput::Pairs;
    let is_hidden = !is_pairs && has_secret(&path, value);
    let variants = variants_of(property);
    let items = variants.iter().find(|one| has_type(one, "array")).map(|list| &list["items"]);
    FormField {
        value: match value {
            value if is_pairs => shown_pairs(&path, value),
            _ if is_hidden => Value::Null,
            value => shown_value(value),
        },
        help: about_of(property),
        input,
        choices,
        least: variants.iter().find_map(|one| one["minimum"].as_i64()),
        has_numbers: items.is_some_and(|items| has_variant(items, "integer")),
        is_hidden,
        key,
        path,
        name,
    }
}

/// Returns a value whose numbers in lists are texts: ids are longer than the numbers of a browser.
fn shown_value(value: &Value) -> Value {
    match value {
        Value::Array(entries) => entries
            .iter()
            .map(|entry| if entry.is_number() { entry.to_string().into() } else { entry.clone() })
            .collect(),
        value => value.clone(),
    }
}

/// Returns the texts by their names, with `null` for a secret.
fn shown_pairs(path: &str, value: &Value) -> Value {
    let Some(pairs) = value.as_object() else { return Value::Null };
    let pairs = pairs.iter().map(|(name, text)| {
        let is_hidden = has_secret(&format!("{path}.{name}"), text);
        (name.clone(), if is_hidden { Value::Null } else { text.clone() })
    });
    pairs.collect()
}

/// Chooses the way to enter a value by its type.
fn input_of(path: &str, name: &str, property: &Value) -> (FormInput, Vec<FormChoice>) {
    let choices = choices_of(property);
    if !choices.is_empty() {
        return (FormInput::Choice, choices);
    }
    if let Some(rule) = rules_of(property) {
        return (FormInput::Rules, rule_choices(rule));
    }
    let has = |kind: &str| has_variant(property, kind);
    let variants = variants_of(property);
    let last = name.rsplit('.').next().unwrap_or_default();
    let input = if is_for_secrets(path) && has("string") {
        FormInput::Secret
    } else if has("object") {
        let texts = variants.iter().map(|one| &one["additionalProperties"]);
        let is_pairs = texts.into_iter().any(|one| has_type(one, "string"));
        if is_pairs { FormInput::Pairs } else { FormInput::Other }
    } else if has("array") && !has("string") {
        let items = variants.iter().map(|one| &one["items"]).find(|items| items.is_object());
        match items {
            Some(items) if has_variant(items, "string") || has_variant(items, "integer") => {
                FormInput::List
            }
            _ => FormInput::Other,
        }
    } else if has("boolean") {
        FormInput::Switch
    } else if has("integer") {
        FormInput::Integer
    } else if has("number") {
        FormInput::Number
    } else if has("string") && LONG_TEXTS.contains(&last) {
        FormInput::Lines
    } else if has("string") && !has("array") {
        FormInput::Text
    } else {
        FormInput::Other
    };
    (input, Vec::new())
}
