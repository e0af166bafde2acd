//! Reads, sets and removes single keys in the text of a configuration. Comments, order and all other keys
//! stay as they are.

use std::ops::Range;

use avocet_config::is_for_secrets;
use avocet_protocol::daemon::ConfigEdit;
use serde_json::Value as Json;
use toml_edit::{
    Array, Document, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value, value,
};

use crate::components::mcp::edit::parse_document;
use crate::redaction::{HIDDEN, without_login};

/// Returns the value of a key or of a table from the text, without replacing references. Secrets
/// are hidden. `None` if the text does not have the key.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML, or the key is malformed.
pub(crate) fn get(text: &str, key: &str) -> Result<Option<String>, String> {
    Ok(find_item(text, key)?.map(|found| match found {
        Item::Value(Value::String(text)) => text.into_value(),
        found => item_text(found),
    }))
}

/// Works as [`get`], but returns a text in its quotation marks.
pub(crate) fn find_literal(text: &str, key: &str) -> Result<Option<String>, String> {
    Ok(find_item(text, key)?.map(item_text))
}

/// Returns the path of a key, as errors about the configuration name it.
pub(crate) fn key_path(key: &str) -> Result<String, String> {
    Ok(key_names(key)?.iter().map(Key::get).collect::<Vec<_>>().join("."))
}

fn item_text(item: Item) -> String {
    match item {
        Item::Value(mut value) => {
            value.decor_mut().clear();
            value.to_string()
        }
        Item::Table(table) => DocumentMut::from(table).to_string().trim_start().to_owned(),
        other => other.to_string(),
    }
}

/// Finds a key or a table, without its secrets.
fn find_item(text: &str, key: &str) -> Result<Option<Item>, String> {
    let document = parse_document(text)?;
    let names = key_names(key)?;
    let found = names.iter().try_fold(document.as_item(), |item, name| {
        item.as_table_like().and_then(|table| table.get(name.get()))
    });
    let Some(mut found) = found.cloned() else { return Ok(None) };
    hide_secrets(&mut found, &key_path(key)?);
    Ok(Some(found))
}

/// Sets a key to a value of TOML, or else to the text itself. A secret is always a text or a list.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML, or the key cannot have a value.
pub(crate) fn set_value(text: &str, key: &str, new: &str) -> Result<String, String> {
    let parsed = new.parse::<Value>().ok();
    let is_secret = is_for_secrets(key);
    let parsed = parsed.filter(|value| !is_secret || value.is_str() || value.is_array());
    put_item(text, key, Item::Value(parsed.unwrap_or_else(|| Value::from(new))))
}

/// Puts a value into a text, or an empty table.
fn put_item(text: &str, key: &str, new: Item) -> Result<String, String> {
    let mut document = parse_document(text)?;
    let names = key_names(key)?;
    let Some((last, tables)) = names.split_last() else { return Err("there is no key".to_owned()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut is_inline = false;
    for name in tables {
        let missing = if is_inline { value(InlineTable::new()) } else { new_table() };
        let item = table.entry(name.get()).or_insert(missing);
        is_inline = item.is_inline_table();
        table = item
            .as_table_like_mut()
            .ok_or_else(|| format!("`{}` is a value and has no keys", name.get()))?;
    }
    match (table.get_mut(last.get()), new) {
        (Some(old), Item::Table(_)) if old.is_table_like() => {}
        (Some(Item::Value(old)), Item::Value(mut new)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        (Some(_), _) => return Err(format!("`{key}` is a table; set one of its keys")),
        (None, new) => drop(table.insert(last.get(), new)),
    }
    Ok(document.to_string().trim_start_matches('\n').to_owned())
}

/// Makes a change that a form has sent.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML, or the change cannot be made.
pub(crate) fn apply_edit(
    text: &str,
    ConfigEdit { key, value, rename }: &ConfigEdit,
) -> Result<String, String> {
    if let Some(name) = rename {
        return rename_table(text, key, name);
    }
    match value {
        Json::Null => remove_key(text, key),
        Json::Object(keys) if keys.is_empty() => {
            let mut table = Table::new();
            table.decor_mut().set_prefix("\n");
            put_item(text, key, Item::Table(table))
        }
        value => {
            let value = value_from_json(value).ok_or_else(|| {
                format!(
                    "`{key}`: only texts, numbers, `true`, `false` and lists of them can be set"
                )
            })?;
            put_item(text, key, Item::Value(value))
        }
    }
}

/// Gives a table another last name. Its place, its keys and the comments stay.
fn rename_table(text: &str, key: &str, name: &str) -> Result<String, String> {
    let (mut document, names) = (parse_document(text)?, key_names(key)?);
    let missing = || format!("there is no table `{key}`");
    let (last, tables) = names.split_last().ok_or_else(missing)?;
    let table = tables.iter().try_fold(document.as_item_mut(), |item, name| {
        item.as_table_like_mut().and_then(|table| table.get_mut(name.get()))
    });
    let table = table.and_then(Item::as_table_like_mut).ok_or_else(missing)?;
    if name.is_empty() {
        return Err(format!("`{key}`: the new name is empty"));
    }
    if table.contains_key(name) && name != last.get() {
        return Err(format!("there is already a table {name:?} beside `{key}`"));
    }
    let old = table.key(last.get()).cloned().ok_or_else(missing)?;
    let item = table.remove(last.get()).ok_or_else(missing)?;
    let new = Key::new(name)
        .with_leaf_decor(old.leaf_decor().clone())
        .with_dotted_decor(old.dotted_decor().clone());
    table.entry_format(&new).or_insert(item);
    Ok(document.to_string())
}

/// Returns a value of TOML; `None` for an object or `null`.
fn value_from_json(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Bool(is_on) => Value::from(*is_on),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()?),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(entries) => {
            Value::Array(entries.iter().map(value_from_json).collect::<Option<Array>>()?)
        }
        Json::Null | Json::Object(_) => return None,
    })
}

/// Removes a key with its line, or a table with its lines. The comments above a key stay.
fn remove_key(text: &str, key: &str) -> Result<String, String> {
    let names = key_names(key)?;
    if let Some(lines) = lines_of_key(text, &names) {
        return Ok(format!("{}{}", &text[..lines.start], &text[lines.end..]));
    }
    let mut document = parse_document(text)?;
    let Some((last, tables)) = names.split_last() else { return Err("there is no key".to_owned()) };
    let table = tables.iter().try_fold(document.as_item_mut(), |item, name| {
        item.as_table_like_mut().and_then(|table| table.get_mut(name.get()))
    });
    let removed = table.and_then(Item::as_table_like_mut).and_then(|it| it.remove(last.get()));
    match removed {
        Some(_) => Ok(document.to_string().trim_start_matches('\n').to_owned()),
        None => Ok(text.to_owned()),
    }
}

/// Returns the range of a key with its value and the rest of its line. `None` if the key shares its
/// line with others, is a table, or does not exist.
fn lines_of_key(text: &str, names: &[Key]) -> Option<Range<usize>> {
    let document = Document::parse(text).ok()?;
    let (last, tables) = names.split_last()?;
    let table = tables
        .iter()
        .try_fold(document.as_item(), |item, name| item.as_table()?.get(name.get()))?
        .as_table()?;
    let (key, item) = table.get_key_value(last.get())?;
    let (key, value) = (key.span()?, item.as_value()?.span()?);
    let start = text[..key.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[value.end..].find('\n').map_or(text.len(), |end| value.end + end + 1);
    text[start..key.start].trim().is_empty().then_some(start..end)
}

/// Returns the values of a text as JSON, without replacing references.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML.
pub(crate) fn values_of_text(text: &str) -> Result<Json, String> {
    Ok(item_json(parse_document(text)?.as_item()))
}

fn item_json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => value_json(value),
        Item::Table(table) => table_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_json(table)).collect(),
    }
}

fn table_json(table: &dyn TableLike) -> Json {
    table.iter().map(|(name, item)| (name.to_owned(), item_json(item))).collect()
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(is_on) => (*is_on.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(values) => values.iter().map(value_json).collect(),
        Value::InlineTable(table) => table_json(table),
    }
}

/// Returns a name as TOML writes it in a key: in quotation marks if it needs them.
pub(crate) fn quoted_name(name: &str) -> String {
    Key::new(name).display_repr().into_owned()
}

/// Returns `true` if a value of a key is not shown, because it has a secret.
pub(crate) fn has_secret(path: &str, value: &Json) -> bool {
    match value {
        Json::String(text) => without_secrets(path, text).is_some(),
        Json::Array(values) => values.iter().any(|value| has_secret(path, value)),
        Json::Object(values) => {
            values.iter().any(|(name, value)| has_secret(&format!("{path}.{name}"), value))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Returns `true` if the value of a key is a secret in plain text.
pub(crate) fn is_literal_secret(key: &str, value: &str) -> bool {
    is_for_secrets(key) && !value.contains("${")
}

fn key_names(key: &str) -> Result<Vec<Key>, String> {
    let wrong = |_| format!("{key:?} is not a key; write it like agents.defaults.model");
    Key::parse(key).map_err(wrong)
}

/// A table whose header appears once it has a value.
fn new_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    table.decor_mut().set_prefix("\n");
    Item::Table(table)
}

fn hide_secrets(item: &mut Item, path: &str) {
    match item {
        Item::Value(value) => hide_value(value, path),
        Item::Table(table) => {
            for (name, item) in table.iter_mut() {
                hide_secrets(item, &format!("{path}.{}", name.get()));
            }
        }
        Item::ArrayOfTables(tables) => {
            for table in tables.iter_mut() {
                for (name, item) in table.iter_mut() {
                    hide_secrets(item, &format!("{path}.{}", name.get()));
                }
            }
        }
        Item::None => {}
    }
}

/// Returns the text of a value without its secrets; `None` if it has none. Of a secret, a reference
/// stays; of an address, everything but the login.
fn without_secrets(path: &str, text: &str) -> Option<String> {
    let is_reference = text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| !name.contains('}'));
    if is_reference {
        return None;
    }
    if is_for_secrets(path) {
        return Some(HIDDEN.to_owned());
    }
    without_login(text)
}

fn hide_value(value: &mut Value, path: &str) {
    match value {
        Value::String(text) => {
            let Some(shown) = without_secrets(path, text.value()) else { return };
            let decor = text.decor().clone();
            *value = Value::from(shown);
            *value.decor_mut() = decor;
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide_value(value, path)),
        Value::InlineTable(table) => {
            for (name, value) in table.iter_mut() {
                hide_value(value, &format!("{path}.{}", name.get()));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "config_text_tests.rs"]
mod tests;
