//! Describes a configuration as a form: each table with its keys, and the tables that can be added. Labels,
//! descriptions and kinds of inputs come from the types that read the tables, as the reference of the book
//! does; this module knows no table by its name.
//!
//! ```text
//! the schema has               the form has
//! a table                      its keys; the keys of a table in it, with their path
//! a table that may be missing  a table of its own, which is added and removed as a whole
//! tables with free names       a table for each, which is added, renamed and removed
//! a channel                    its table, or a table for each account
//! ```

mod fields;
mod shapes;

use avocet_protocol::daemon::{
    ConfigEdit, FormAddition, FormField, FormGroup, FormInput, FormTable,
};
use serde_json::Value;

use self::fields::{FieldSource, field_of};
use self::shapes::{
    about_of, entries_of, is_optional, kinds_of, properties_of, rules_of, short_form_of,
};
use super::config_text::quoted_name;
use crate::registry::{ACCOUNTS, config_schema};

/// The form of a configuration.
#[derive(Debug, Default)]
pub(crate) struct ConfigTables {
    pub(crate) groups: Vec<FormGroup>,
    pub(crate) tables: Vec<FormTable>,
    pub(crate) additions: Vec<FormAddition>,
}

/// Returns the form of a configuration with these values.
pub(crate) fn describe_config(values: &Value) -> ConfigTables {
    let schema = config_schema();
    let mut form = ConfigTables { groups: groups_of(&schema), ..ConfigTables::default() };
    let root = TablePlace { names: Vec::new(), value: values, is_entry: false, kind: None };
    form.add_table(&root, &schema);
    form
}

/// Returns the part for the keys outside of tables, and one for each table of the file.
fn groups_of(schema: &Value) -> Vec<FormGroup> {
    let keys = properties_of(schema).as_object().into_iter().flatten();
    let tables = keys.filter(|(_, property)| is_table(property));
    let tables = tables.map(|(name, table)| (name.as_str(), about_of(table)));
    let groups = [("", String::new())].into_iter().chain(tables);
    groups.map(|(name, about)| FormGroup { name: name.to_owned(), about }).collect()
}

fn is_table(property: &Value) -> bool {
    properties_of(property).is_object() || entries_of(property).is_some()
}

impl ConfigTables {
    /// Gives the value of an edit the type of its field. A form sends numbers as texts, because a
    /// number of JSON loses the last digits of an id.
    pub(crate) fn typed_edit(&self, edit: ConfigEdit) -> ConfigEdit {
        let mut fields = self.tables.iter().flat_map(|table| &table.fields);
        let Some(field) = fields.find(|field| field.key == edit.key) else { return edit };
        ConfigEdit { value: typed_value(field, edit.value), ..edit }
    }

    /// Adds a table, and the separate tables in it.
    fn add_table(&mut self, place: &TablePlace<'_>, schema: &Value) {
        let mut found = TableKeys::default();
        if place.is_one_value() {
            found.fields.push(field_of(place.field(""), short_form_of(schema)));
        } else if !place.is_missing(schema) {
            found.collect(place, "", schema);
        }
        let is_empty = found.fields.is_empty() && !place.is_entry && !is_optional(schema);
        if !is_empty {
            self.tables.push(place.describe(schema, found.fields));
        }
        if place.is_missing(schema) || place.is_one_value() {
            return;
        }
        let mut missing = Vec::new();
        for (place, schema) in &found.inner {
            match (schema[ACCOUNTS] == true, place.value.is_null()) {
                (true, true) => missing.extend(place.names.last().cloned()),
                (true, false) => self.add_channel(place, schema),
                (false, _) => self.add_table(place, schema),
            }
        }
        if !missing.is_empty() {
            self.additions.push(FormAddition { names: missing, ..place.addition(schema) });
        }
        if let Some(entry) = entries_of(schema) {
            self.add_entries(place, schema, entry);
        }
    }

    /// Adds the tables with free names below a table.
    fn add_entries(&mut self, place: &TablePlace<'_>, schema: &Value, entry: &Value) {
        for name in place.inner_names().filter(|name| properties_of(schema).get(name).is_none()) {
            let inner = TablePlace { is_entry: true, ..place.below(name) };
            match kinds_of(entry) {
                None => self.add_table(&inner, entry),
                Some(kinds) => {
                    let kind =
                        inner.value["kind"].as_str().filter(|kind| kinds.contains_key(*kind));
                    if let Some(kind) = kind {
                        let schema = &kinds[kind];
                        self.add_table(
                            &TablePlace { kind: Some(kind.to_owned()), ..inner },
                            schema,
                        );
                    }
                }
            }
        }
        let kinds = kinds_of(entry).into_iter().flat_map(|kinds| kinds.keys().cloned()).collect();
        self.additions.push(FormAddition { kinds, ..place.addition(schema) });
    }

    /// Adds the table of a channel, or one table for each of its accounts.
    fn add_channel(&mut self, place: &TablePlace<'_>, schema: &Value) {
        let kind = place.names.last().cloned();
        let is_known = |name: &str| properties_of(schema).get(name).is_some();
        let is_single = place
            .value
            .as_object()
            .is_none_or(|table| table.is_empty() || table.keys().any(|name| is_known(name)));
        if is_single {
            return self.add_table(&TablePlace { kind, ..place.clone() }, schema);
        }
        for account in place.inner_names() {
            let inner = place.below(account);
            self.add_table(&TablePlace { kind: kind.clone(), is_entry: true, ..inner }, schema);
        }
        self.additions.push(place.addition(schema));
    }
}

/// The keys of a table, and the separate tables in it.
#[derive(Default)]
struct TableKeys<'v, 's> {
    fields: Vec<FormField>,
    inner: Vec<(TablePlace<'v>, &'s Value)>,
}

impl<'v, 's> TableKeys<'v, 's> {
    /// Collects the keys of a table. `above` is the path from the table of the form to this one.
    fn collect(&mut self, place: &TablePlace<'v>, above: &str, schema: &'s Value) {
        // The tables in a list of tables are separate.
        let is_list = place.names.is_empty() || entries_of(schema).is_some();
        for (name, property) in properties_of(schema).as_object().into_iter().flatten() {
            let (inner, path) = (place.below(name), format!("{above}{name}"));
            let is_table = properties_of(property).is_object();
            if let Some(rule) = rules_of(property) {
                self.fields.push(field_of(inner.field(&path), property));
                let cases = inner.inner_names().map(|name| inner.below(name));
                let cases = cases.filter(|case| case.value.is_object());
                self.inner.extend(cases.map(|case| (TablePlace { is_entry: true, ..case }, rule)));
            } else if entries_of(property).is_some()
                || is_table && (is_list || is_optional(property))
            {
                self.inner.push((inner, property));
            } else if is_table && !inner.is_one_value() {
                self.collect(&inner, &format!("{path}."), property);
            } else {
                let schema = if is_table { short_form_of(property) } else { property };
                self.fields.push(field_of(inner.field(&path), schema));
            }
        }
    }
}

/// The place of a table in the configuration.
#[derive(Debug, Clone)]
struct TablePlace<'v> {
    names: Vec<String>,
    value: &'v Value,
    /// `true` if the last name is free.
    is_entry: bool,
    /// The kind of a provider, or the platform of a channel.
    kind: Option<String>,
}

impl<'v> TablePlace<'v> {
    fn below(&self, name: &str) -> Self {
        let names =
            self.names.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
        Self { names, value: &self.value[name], is_entry: false, kind: None }
    }

    /// Returns the key, as TOML writes it.
    fn key(&self) -> String {
        self.names.iter().map(|name| quoted_name(name)).collect::<Vec<_>>().join(".")
    }

    /// Returns the names of the keys in the text, in their order.
    fn inner_names(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        self.value.as_object().into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// Returns `true` if the table is written in its short form.
    fn is_one_value(&self) -> bool {
        !self.value.is_object() && !self.value.is_null()
    }

    /// Returns `true` if a table is not in the text that means something else then.
    fn is_missing(&self, schema: &Value) -> bool {
        self.value.is_null() && is_optional(schema)
    }

    fn field(&self, name: &str) -> FieldSource<'v> {
        FieldSource {
            key: self.key(),
            path: self.names.join("."),
            name: name.to_owned(),
            value: self.value,
        }
    }

    fn describe(&self, schema: &Value, fields: Vec<FormField>) -> FormTable {
        let is_whole = self.is_entry || is_optional(schema);
        FormTable {
            key: self.key(),
            path: self.names.join("."),
            group: self.group(),
            kind: self.kind.clone(),
            about: about_of(schema),
            can_add: self.is_missing(schema),
            can_remove: is_whole && !self.value.is_null(),
            can_rename: self.is_entry,
            fields,
        }
    }

    fn addition(&self, schema: &Value) -> FormAddition {
        FormAddition {
            parent: self.key(),
            group: self.group(),
            about: about_of(schema),
            kinds: Vec::new(),
            names: Vec::new(),
        }
    }

    fn group(&self) -> String {
        self.names.first().cloned().unwrap_or_default()
    }
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

#[cfg(test)]
#[path = "config_form_tests.rs"]
mod tests;
