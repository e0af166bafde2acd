//! The keys that a table may have, from the type that it becomes.

use avocet_protocol::nearest;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of a table's type, with nothing referred to elsewhere.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Every key of a table's type, with those of the tables in it as `table.key`. Tables whose keys
/// are free (`providers`, `channels`) are named and not entered.
#[must_use]
pub fn keys<T: JsonSchema>() -> Vec<String> {
    let mut found = Vec::new();
    collect(&schema::<T>(), "", &mut found);
    found
}

fn collect(schema: &Value, prefix: &str, found: &mut Vec<String>) {
    for (name, property) in properties(schema).as_object().into_iter().flatten() {
        let key = format!("{prefix}{name}");
        if known_keys(property).is_some() {
            collect(property, &format!("{key}."), found);
        } else {
            found.push(key);
        }
    }
}

/// The keys of a table; none where they are free, or where it is no table.
pub(crate) fn known_keys(schema: &Value) -> Option<Vec<&str>> {
    let properties = properties(schema).as_object()?;
    Some(properties.keys().map(String::as_str).collect())
}

/// Whether a table may have other keys beside those that are known.
pub(crate) fn has_free_keys(schema: &Value) -> bool {
    schema["additionalProperties"] == true
}

/// The keys of a table and their schemas, also of one that may be missing.
pub(crate) fn properties(schema: &Value) -> &Value {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let table = choices.map(|one| &one["properties"]).find(|properties| properties.is_object());
    table.unwrap_or(&schema["properties"])
}

/// What was probably meant by an unknown key, in words for an error.
pub(crate) fn suggestion(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "it is not known here".to_owned(),
        None => format!("the keys are {}", known.join(", ")),
    }
}
