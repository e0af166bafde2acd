//! The fields of a table, from the schema of its type.

use avocet_config::is_for_secrets;
use avocet_protocol::daemon::{FormChoice, FormField, FormInput};
use serde_json::Value;

use crate::components::config_text::{has_secret, quoted_name};

/// Keys whose texts usually have several lines.
const LONG_TEXTS: [&str; 1] = ["prompt"];

/// The place of a table or key, and its value in the text.
pub(super) struct FieldSource<'v> {
    pub(super) key: String,
    pub(super) path: String,
    /// The name within the table of the form; empty for that table.
    pub(super) name: String,
    pub(super) value: &'v Value,
}

impl<'v> FieldSource<'v> {
    fn below(&self, name: &str) -> Self {
        let joined = match self.name.as_str() {
            "" => name.to_owned(),
            above => format!("{above}.{name}"),
        };
        Self {
            key: format!("{}.{}", self.key, quoted_name(name)),
            path: format!("{}.{name}", self.path),
            name: joined,
            value: &self.value[name],
        }
    }
}

/// Returns the fields of a table. The keys of inner tables are fields of this one.
pub(super) fn fields_of(table: &FieldSource<'_>, schema: &Value) -> Vec<FormField> {
    let mut fields = Vec::new();
    for (name, property) in properties_of(schema).as_object().into_iter().flatten() {
        let source = table.below(name);
        let is_table = properties_of(property).is_object();
        if is_table && (source.value.is_null() || source.value.is_object()) {
            fields.extend(fields_of(&source, property));
        } else {
            fields.push(field_of(source, property));
        }
    }
    fields
}

/// Returns the keys of a table and their schemas, also for an optional table.
fn properties_of(schema: &Value) -> &Value {
    let variants = variants_of(schema);
    let inner = variants.iter().map(|one| &one["properties"]).find(|inner| inner.is_object());
    inner.unwrap_or(&schema["properties"])
}

/// Returns the alternatives of a schema, except `null`; the schema itself if it has none.
fn variants_of(schema: &Value) -> Vec<&Value> {
    let lists = ["anyOf", "oneOf"].into_iter().find_map(|name| schema[name].as_array());
    match lists {
        Some(list) => {
            list.iter().filter(|one| one["type"] != "null").flat_map(variants_of).collect()
        }
        None => vec![schema],
    }
}

fn field_of(source: FieldSource<'_>, property: &Value) -> FormField {
    let FieldSource { key, path, name, value } = source;
    let (input, choices) = input_of(&path, &name, property);
    let is_hidden = has_secret(&path, value);
    let variants = variants_of(property);
    let items = variants.iter().find(|one| has_type(one, "array")).map(|list| &list["items"]);
    FormField {
        key,
        path,
        name,
        help: property["description"].as_str().unwrap_or_default().replace('\n', " "),
        input,
        choices,
        least: variants.iter().find_map(|one| one["minimum"].as_i64()),
        has_numbers: items.is_some_and(|items| has_variant(items, "integer")),
        value: if is_hidden { Value::Null } else { shown_value(value) },
        is_hidden,
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

/// Chooses the way to enter a value by its type.
fn input_of(path: &str, name: &str, property: &Value) -> (FormInput, Vec<FormChoice>) {
    let choices = choices_of(property);
    if !choices.is_empty() {
        return (FormInput::Choice, choices);
    }
    let has = |kind: &str| has_variant(property, kind);
    if is_for_secrets(path) && has("string") {
        return (FormInput::Secret, Vec::new());
    }
    let rule = &property["additionalProperties"];
    // A rule of a tool is a word, or a table of words.
    let mut rules = choices_of(rule);
    if rules.is_empty() {
        rules = choices_of(&rule["properties"]["default"]);
    }
    if !rules.is_empty() {
        return (FormInput::Rules, rules);
    }
    let input = if has("object") {
        FormInput::Other
    } else if has("array") && !has("string") {
        let variants = variants_of(property);
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
    } else if has("string") && LONG_TEXTS.contains(&name) {
        FormInput::Lines
    } else if has("string") && !has("array") {
        FormInput::Text
    } else {
        FormInput::Other
    };
    (input, Vec::new())
}

/// Returns `true` if a value of the type fits the schema.
fn has_variant(schema: &Value, kind: &str) -> bool {
    variants_of(schema).into_iter().any(|one| has_type(one, kind))
}

fn has_type(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    }
}

/// Returns the values of an enumeration of words; empty for other types.
fn choices_of(schema: &Value) -> Vec<FormChoice> {
    let mut choices = Vec::new();
    for variant in variants_of(schema) {
        let words = variant["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        choices
            .extend(words.map(|word| FormChoice { value: word.to_owned(), help: String::new() }));
        if let Some(word) = variant["const"].as_str() {
            let help = variant["description"].as_str().unwrap_or_default().replace('\n', " ");
            choices.push(FormChoice { value: word.to_owned(), help });
        }
    }
    choices
}
