//! Reads and sets single keys in the text of a configuration. Comments, order and all other keys
//! stay as they are.

use avocet_config::is_for_secrets;
use toml_edit::{DocumentMut, InlineTable, Item, Key, Table, TableLike, Value, value};

use crate::components::mcp::edit::parse_document;
use crate::redaction::{HIDDEN, without_login};

/// Returns the value of a key or of a table from the text, without replacing references. Secrets
/// are hidden. `None` if the text does not have the key.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML, or the key is malformed.
pub(super) fn get(text: &str, key: &str) -> Result<Option<String>, String> {
    Ok(find_item(text, key)?.map(|found| match found {
        Item::Value(Value::String(text)) => text.into_value(),
        found => item_text(found),
    }))
}

/// Works as [`get`], but returns a text in its quotation marks.
pub(super) fn find_literal(text: &str, key: &str) -> Result<Option<String>, String> {
    Ok(find_item(text, key)?.map(item_text))
}

/// Returns the path of a key, as errors about the configuration name it.
pub(super) fn key_path(key: &str) -> Result<String, String> {
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
pub(super) fn set_value(text: &str, key: &str, new: &str) -> Result<String, String> {
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
    let parsed = new.parse::<Value>().ok();
    let is_secret = is_for_secrets(key);
    let parsed = parsed.filter(|value| !is_secret || value.is_str() || value.is_array());
    let mut new = parsed.unwrap_or_else(|| Value::from(new));
    match table.get_mut(last.get()) {
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(_) => return Err(format!("`{key}` is a table; set one of its keys")),
        None => drop(table.insert(last.get(), Item::Value(new))),
    }
    Ok(document.to_string().trim_start_matches('\n').to_owned())
}

/// Returns `true` if the value of a key is a secret in plain text.
pub(super) fn is_literal_secret(key: &str, value: &str) -> bool {
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
mod tests {
    use super::*;

    const TEXT: &str = "# first\n[agents.defaults] # table\nmodel = \"a/b\" # the model\n\
        fallbacks = [\"a/c\"]\n\n[providers.a]\napi_key = \"sk-literal\"\n\
        [providers.b]\napi_key = \"${B}\"\n[models.\"a/b\"]\ncontext = 5\n";

    #[test]
    fn get_shows_values_as_they_stand_and_hides_secrets() {
        let table = [
            ("agents.defaults.model", Some("a/b")),
            ("agents.defaults.fallbacks", Some("[\"a/c\"]")),
            ("models.\"a/b\".context", Some("5")),
            ("providers.a.api_key", Some("(hidden)")),
            ("providers.b.api_key", Some("${B}")),
            ("providers.a", Some("api_key = \"(hidden)\"\n")),
            ("agents.defaults.modle", None),
            ("agents.defaults.model.x", None),
        ];
        for (key, expected) in table {
            assert_eq!(get(TEXT, key).unwrap().as_deref(), expected, "{key}");
        }
        let text = "[[providers.x]]\napi_key = \"a\"\n[h.headers]\nauth = \"Bearer b ${C}\"\n\
            [u]\nat = \"http://me:word@host/a@b\"\nplain = \"http://host/a@b\"\n";
        let table = [
            ("providers.x", "[{ api_key = \"(hidden)\" }]"),
            ("h.headers.auth", "(hidden)"),
            ("u.at", "http://(hidden)@host/a@b"),
            ("u.plain", "http://host/a@b"),
        ];
        for (key, expected) in table {
            assert_eq!(get(text, key).unwrap().unwrap().trim_start(), expected, "{key}");
        }
        assert!(get(TEXT, "a..b").is_err() && get("a = ", "a").is_err());
    }

    #[test]
    fn set_changes_one_key_and_keeps_all_else() {
        let table = [
            ("agents.defaults.model", "x/y", "model = \"a/b\" #", "model = \"x/y\" #"),
            ("agents.defaults.fallbacks", "[]", "[\"a/c\"]", "[]"),
            ("models.\"a/b\".context", "7", "context = 5", "context = 7"),
            ("agents.defaults.max_children", "2", "[\"a/c\"]\n", "[\"a/c\"]\nmax_children = 2\n"),
        ];
        for (key, new, from, to) in table {
            assert_eq!(set_value(TEXT, key, new).unwrap(), TEXT.replacen(from, to, 1), "{key}");
        }
        assert_eq!(set_value("", "log.level", "debug").unwrap(), "[log]\nlevel = \"debug\"\n");
        assert_eq!(set_value("", "a.token", "123").unwrap(), "[a]\ntoken = \"123\"\n");
        assert_eq!(set_value("", "data_dir", "/x").unwrap(), "data_dir = \"/x\"\n");
        let added = set_value(TEXT, "budgets.day_usd", "5").unwrap();
        assert_eq!(added, format!("{TEXT}\n[budgets]\nday_usd = 5\n"));
        assert!(set_value(TEXT, "agents.defaults", "5").is_err());
        assert!(set_value(TEXT, "agents.defaults.model.x", "5").is_err());
    }
}
