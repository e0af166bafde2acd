//! Changes the tables of MCP servers in the text of a configuration. Comments, order and all other
//! tables stay as they are.

use std::collections::BTreeMap;

use serde::Serialize;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError, Value, value};

/// The keys that say how a server is reached. They are replaced together.
const REACHED_BY: [&str; 5] = ["command", "args", "env", "url", "headers"];

/// The lists to which a server that is replaced only adds.
const MERGED: [&str; 3] = ["hosts", "read", "write"];

/// The table of a server: only the keys that have values are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerTable {
    pub(crate) name: String,
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    pub(crate) hosts: Vec<String>,
}

/// A server of the configuration file, for a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ListedServer {
    pub(crate) name: String,
    /// The command with its arguments, or the URL; with unresolved references.
    pub(crate) reached_by: String,
}

/// Lists the servers in the text, in its order.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML.
pub(crate) fn list_servers(text: &str) -> Result<Vec<ListedServer>, String> {
    let document = parse_document(text)?;
    let servers = document.get("tools").and_then(|tools| tools.get("mcp_servers"));
    let servers = servers.and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter);
    Ok(servers.map(|(name, server)| listed_server(name, server)).collect())
}

fn listed_server(name: &str, server: &Item) -> ListedServer {
    let text = |key: &str| server.get(key).and_then(Item::as_str).map(str::to_owned);
    let args = server.get("args").and_then(Item::as_array).into_iter().flatten();
    let args = args.filter_map(Value::as_str).map(str::to_owned);
    let command = text("command").map(|command| [command].into_iter().chain(args));
    let command = command.map(|words| words.collect::<Vec<_>>().join(" "));
    let reached_by = command.or_else(|| text("url")).unwrap_or_default();
    ListedServer { name: name.to_owned(), reached_by }
}

/// Writes the tables of servers into the text. A table that exists keeps its other keys.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML, or if a server exists and may not be replaced.
pub(crate) fn put_servers(
    text: &str,
    servers: &[ServerTable],
    replace: bool,
) -> Result<String, String> {
    let mut document = parse_document(text)?;
    let tables = server_tables(&mut document)?;
    let exists = |server: &&ServerTable| tables.get(&server.name).is_some();
    let existing: Vec<_> = servers.iter().filter(exists).map(|server| &*server.name).collect();
    if !replace && !existing.is_empty() {
        return Err(format!(
            "the configuration already has [tools.mcp_servers.{}]; give another name, or --replace",
            existing.join("] and [tools.mcp_servers.")
        ));
    }
    for server in servers {
        put_one(tables, server)?;
    }
    Ok(document.to_string().trim_start_matches('\n').to_owned())
}

/// Removes the table of a server; `None` if there is no such table.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML.
pub(crate) fn remove_server(text: &str, name: &str) -> Result<Option<String>, String> {
    let mut document = parse_document(text)?;
    let servers = server_tables(&mut document)?.as_table_like_mut();
    let removed = servers.and_then(|servers| servers.remove(name));
    Ok(removed.map(|_| document.to_string()))
}

/// Parses the text of a configuration.
///
/// # Errors
/// The reason, as a sentence, if the text is no TOML.
pub(crate) fn parse_document(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: TomlError| {
        let place = error.span().map(|span| text[..span.start].lines().count().max(1));
        let place = place.map_or_else(String::new, |line| format!("line {line}: "));
        format!("the configuration is not TOML: {place}{}", error.message())
    })
}

/// Returns `tools.mcp_servers`, and adds it if it is missing.
fn server_tables(document: &mut DocumentMut) -> Result<&mut Item, String> {
    let tools = table_below(document.as_item_mut(), "tools")?;
    table_below(tools, "mcp_servers")
}

/// Returns a table below another one, and adds it if it is missing. Below an inline table it is
/// inline, too.
fn table_below<'a>(above: &'a mut Item, name: &str) -> Result<&'a mut Item, String> {
    let missing =
        if above.is_inline_table() { value(InlineTable::new()) } else { implicit_table() };
    let table = above.as_table_like_mut().and_then(|above| {
        let table = above.entry(name).or_insert(missing);
        table.is_table_like().then_some(table)
    });
    table.ok_or_else(|| format!("`{name}` in the configuration is not a table of tables"))
}

/// A table without a header of its own.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn put_one(servers: &mut Item, server: &ServerTable) -> Result<(), String> {
    let is_inline = servers.is_inline_table();
    let Some(servers) = servers.as_table_like_mut() else { return Ok(()) };
    if !servers.contains_key(&server.name) {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        let table = if is_inline { value(InlineTable::new()) } else { Item::Table(table) };
        servers.insert(&server.name, table);
    }
    let table = servers.get_mut(&server.name).and_then(Item::as_table_like_mut);
    let Some(table) = table else {
        return Err(format!("`tools.mcp_servers.{}` is not a table", server.name));
    };
    for key in REACHED_BY {
        table.remove(key);
    }
    for (key, mut value) in server_values(server) {
        // Removed first, so that the keys always have the same order.
        let old = table.remove(key);
        if MERGED.contains(&key)
            && let (Some(old), Some(new)) =
                (old.as_ref().and_then(Item::as_array), value.as_array_mut())
        {
            merge_arrays(old, new);
        }
        table.insert(key, Item::Value(value));
    }
    Ok(())
}

/// Puts the texts of an old list in front of the new ones.
fn merge_arrays(old: &Array, new: &mut Array) {
    let texts =
        |list: &Array| list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
    let mut all = texts(old);
    all.extend(texts(new).into_iter().filter(|text| !texts(old).contains(text)));
    *new = all.iter().map(String::as_str).collect();
}

/// Returns the keys of a server and their values, without the empty ones.
fn server_values(server: &ServerTable) -> impl Iterator<Item = (&'static str, Value)> {
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let list = |list: &[String]| {
        (!list.is_empty()).then(|| Value::Array(list.iter().map(String::as_str).collect::<Array>()))
    };
    let pairs = |pairs: &BTreeMap<String, String>| {
        let table: InlineTable = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        (!table.is_empty()).then_some(Value::InlineTable(table))
    };
    let keys = [
        ("command", text(&server.command)),
        ("args", list(&server.args)),
        ("env", pairs(&server.env)),
        ("url", text(&server.url)),
        ("headers", pairs(&server.headers)),
        ("read", list(&server.read)),
        ("write", list(&server.write)),
        ("hosts", list(&server.hosts)),
    ];
    keys.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
