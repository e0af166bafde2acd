//! Describes the common tables of a configuration as a form. Labels, descriptions and kinds of inputs
//! come from the types that read the tables, as the reference of the book does.

mod fields;

use avocet_config::{
    AgentDefaults, BudgetsConfig, ProfileKeys, RetentionConfig, SessionsConfig, ToolsConfig, schema,
};
use avocet_llm::ModelConfig;
use avocet_protocol::daemon::{
    ConfigEdit, FormAddition, FormField, FormGroup, FormInput, FormTable,
};
use serde_json::{Map, Value};

use self::fields::{FieldSource, fields_of};
use super::config_text::quoted_name;
use crate::registry::{CHANNELS, PROVIDERS};

/// Returns the tables of a form with the values of a configuration.
pub(crate) fn tables_of(values: &Value) -> Vec<FormTable> {
    let mut tables =
        vec![named_table(values, "agents.defaults", FormGroup::Models, &schema::<AgentDefaults>())];
    for name in names_below(values, "agents").filter(|name| *name != "defaults") {
        let place = TablePlace::below("agents", name, FormGroup::Models);
        tables.push(place.describe(values, &schema::<ProfileKeys>(), None));
    }
    for name in names_below(values, "models") {
        let place = TablePlace::below("models", name, FormGroup::Models);
        tables.push(place.describe(values, &schema::<ModelConfig>(), None));
    }
    for name in names_below(values, "providers") {
        let place = TablePlace::below("providers", name, FormGroup::Providers);
        let kind = place.value_in(values)["kind"].as_str();
        if let Some(kind) = PROVIDERS.iter().find(|known| Some(known.name) == kind) {
            tables.push(place.describe(values, &(kind.schema)(), Some(kind.name)));
        }
    }
    for channel in CHANNELS {
        tables.extend(channel_tables(values, channel.name, &(channel.schema)()));
    }
    let limits = FormGroup::Limits;
    tables.extend([
        named_table(values, "tools", FormGroup::Tools, &schema::<ToolsConfig>()),
        named_table(values, "budgets", limits, &schema::<BudgetsConfig>()),
        named_table(values, "sessions", limits, &schema::<SessionsConfig>()),
        named_table(values, "retention", limits, &schema::<RetentionConfig>()),
    ]);
    tables
}

/// Gives the value of an edit the type of its field. A form sends numbers as texts, because a number
/// of JSON loses the last digits of an id.
pub(crate) fn typed_edit(edit: ConfigEdit, tables: &[FormTable]) -> ConfigEdit {
    let mut fields = tables.iter().flat_map(|table| &table.fields);
    let Some(field) = fields.find(|field| field.key == edit.key) else { return edit };
    ConfigEdit { value: typed_value(field, edit.value), ..edit }
}

fn typed_value(field: &FormField, value: Value) -> Value {
    match (field.input, value) {
        (FormInput::List, Value::Array(entries)) if field.has_numbers => {
            entries.into_iter().map(whole_number).collect()
        }
        (FormInput::Integer, value) => whole_number(value),
        (FormInput::Number, value) => match value.as_str().and_then(|text| text.parse().ok()) {
            // A whole number stays one in the text.
            Some(number) if f64::fract(number).abs() > 0.0 => number.into(),
            _ => whole_number(value),
        },
        (_, value) => value,
    }
}

/// Returns the whole number that a text has, or else the text.
fn whole_number(value: Value) -> Value {
    let number = value.as_str().and_then(|text| text.replace(['_', ','], "").parse::<i64>().ok());
    number.map_or(value, Value::from)
}

/// Returns the tables that a form offers to add.
pub(crate) fn additions_to(values: &Value) -> Vec<FormAddition> {
    let addition = |parent: &str, group| FormAddition {
        parent: parent.to_owned(),
        group,
        kinds: Vec::new(),
        names: Vec::new(),
    };
    let kinds = PROVIDERS.iter().map(|kind| kind.name.to_owned()).collect();
    let channels = CHANNELS.iter().map(|kind| kind.name);
    let missing = channels.filter(|name| values["channels"].get(name).is_none());
    vec![
        addition("agents", FormGroup::Models),
        FormAddition { kinds, ..addition("providers", FormGroup::Providers) },
        FormAddition {
            names: missing.map(str::to_owned).collect(),
            ..addition("channels", FormGroup::Channels)
        },
    ]
}

/// Returns the table of a channel, or one table for each of its accounts.
fn channel_tables(values: &Value, channel: &str, schema: &Value) -> Vec<FormTable> {
    let place = TablePlace::below("channels", channel, FormGroup::Channels);
    let Some(table) = values["channels"][channel].as_object() else { return Vec::new() };
    let is_known = |name: &String| schema["properties"].get(name).is_some();
    if table.is_empty() || table.keys().any(is_known) {
        return vec![place.describe(values, schema, Some(channel))];
    }
    let accounts = table.keys().map(|account| {
        let place = TablePlace {
            key: format!("{}.{}", place.key, quoted_name(account)),
            names: vec!["channels".to_owned(), channel.to_owned(), account.clone()],
            group: place.group,
        };
        place.describe(values, schema, Some(channel))
    });
    accounts.collect()
}

/// A table that a form always shows.
fn named_table(values: &Value, path: &str, group: FormGroup, schema: &Value) -> FormTable {
    let names = path.split('.').map(str::to_owned).collect();
    TablePlace { key: path.to_owned(), names, group }.describe(values, schema, None)
}

/// Returns the names of the tables below a table, in the order of the text.
fn names_below<'v>(values: &'v Value, parent: &str) -> impl Iterator<Item = &'v str> + use<'v> {
    let tables: Option<&Map<String, Value>> = values[parent].as_object();
    let tables = tables.into_iter().flatten();
    tables.filter(|(_, table)| table.is_object()).map(|(name, _)| name.as_str())
}

/// The place of a table in the configuration.
struct TablePlace {
    /// The key, as TOML writes it.
    key: String,
    names: Vec<String>,
    group: FormGroup,
}

impl TablePlace {
    fn below(parent: &str, name: &str, group: FormGroup) -> Self {
        Self {
            key: format!("{parent}.{}", quoted_name(name)),
            names: vec![parent.to_owned(), name.to_owned()],
            group,
        }
    }

    fn value_in<'v>(&self, values: &'v Value) -> &'v Value {
        self.names.iter().fold(values, |value, name| &value[name])
    }

    fn describe(&self, values: &Value, schema: &Value, kind: Option<&str>) -> FormTable {
        let source = FieldSource {
            key: self.key.clone(),
            path: self.names.join("."),
            name: String::new(),
            value: self.value_in(values),
        };
        FormTable {
            key: self.key.clone(),
            group: self.group,
            kind: kind.map(str::to_owned),
            about: schema["description"].as_str().unwrap_or_default().replace('\n', " "),
            can_remove: self.value_in(values).is_object(),
            fields: fields_of(&source, schema),
        }
    }
}

#[cfg(test)]
#[path = "config_form_tests.rs"]
mod tests;
