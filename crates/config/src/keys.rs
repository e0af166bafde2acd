//! Lists the keys that a table may have, from the type that it becomes.

use avocet_text::nearest;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of a table's type, with all references inlined.
#[must_use]
pub fn schema<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns every key of a table by the schema of its type, and the keys of inner tables as
/// `table.key`. Tables with free keys (`providers`, `channels`) are named without their contents.
#[must_use]
pub fn keys(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_keys(schema, "", &mut found);
    found
}

fn collect_keys(schema: &Value, prefix: &str, found: &mut Vec<String>) {
    for (name, property) in table_properties(schema).as_object().into_iter().flatten() {
        let key = format!("{prefix}{name}");
        if known_keys(property).is_some() {
            collect_keys(property, &format!("{key}."), found);
        } else {
            found.push(key);
        }
    }
}

/// Returns the keys of a table. `None` if its keys are free or the schema describes another type.
pub(crate) fn known_keys(schema: &Value) -> Option<Vec<&str>> {
    let properties = table_properties(schema).as_object()?;
    Some(properties.keys().map(String::as_str).collect())
}

/// Returns `true` if a table may have keys beside the known ones.
pub(crate) fn has_free_keys(schema: &Value) -> bool {
    schema["additionalProperties"] == true
}

/// Returns the keys of a table and their schemas, also for an optional table.
pub(crate) fn table_properties(schema: &Value) -> &Value {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let table = choices.map(|one| &one["properties"]).find(|properties| properties.is_object());
    table.unwrap_or(&schema["properties"])
}

/// Suggests the intended key for an unknown one, in words for an error.
pub(crate) fn suggest_key(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "it is not known here".to_owned(),
        None => format!("the keys are {}", known.join(", ")),
    }
}
