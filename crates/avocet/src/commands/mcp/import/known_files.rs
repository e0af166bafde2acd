//! Finds the tables of MCP servers in the files of other programs.
//!
//! | program | file | place |
//! |---|---|---|
//! | Claude Code | `.mcp.json`, `~/.claude.json` | `mcpServers`, `projects.DIR.mcpServers` |
//! | Claude Desktop, Cursor, Gemini CLI, Windsurf and others | several | `mcpServers` |
//! | Codex | `~/.codex/config.toml` | `mcp_servers` |
//! | OpenClaw | `openclaw.json` | `mcp.servers` |
//! | opencode | `opencode.json` | `mcp` |
//! | VS Code | `.vscode/mcp.json`, `settings.json` | `servers`, `mcp.servers` |
//! | Zed | `settings.json` | `context_servers` |

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, TableLike};

use super::loose_json::parse_loose_json;

/// The programs whose files are known.
const PROGRAMS: &str = "Claude Code, Claude Desktop, Codex, Cursor, Gemini CLI, OpenClaw, opencode, \
    VS Code, Windsurf and Zed";
/// The places of tables in a file, as the ways of their keys.
const PLACES: [&[&str]; 9] = [
    &["mcpServers"],
    &["servers"],
    &["context_servers"],
    &["mcp_servers"],
    &["mcp", "servers"],
    &["mcp", "mcpServers"],
    &["mcp.servers"],
    &["amp.mcpServers"],
    &["tools", "mcp_servers"],
];
/// The keys of which each server has one.
const OF_SERVERS: [&str; 5] = ["command", "httpUrl", "serverUrl", "type", "url"];

/// A server of a file.
#[derive(Debug, PartialEq)]
pub(crate) struct FoundServer {
    pub(crate) name: String,
    pub(crate) entry: Value,
    /// The directory of the project to which it belongs, in Claude Code.
    pub(crate) project: Option<String>,
}

/// The servers of a file, and the descriptions of the inputs to which they refer.
#[derive(Debug, Default)]
pub(crate) struct FoundServers {
    pub(crate) servers: Vec<FoundServer>,
    /// By the name of the input, as VS Code has them.
    pub(crate) inputs: BTreeMap<String, String>,
}

/// Finds the servers in the text of a file.
///
/// # Errors
/// The reason, as a sentence, if the text has another form.
pub(crate) fn find_servers(text: &str) -> Result<FoundServers, String> {
    let document = parse(text)?;
    let mut found = FoundServers { inputs: read_inputs(&document), ..FoundServers::default() };
    let mut has_place = false;
    for table in PLACES.iter().filter_map(|place| value_at(&document, place)) {
        has_place = true;
        found.add(table, None);
    }
    for (directory, project) in document["projects"].as_object().into_iter().flatten() {
        if let Some(table) = value_at(project, &["mcpServers"]) {
            has_place = true;
            found.add(table, Some(directory));
        }
    }
    // The key `mcp` of opencode, or a file that is a table of servers itself.
    let tables = document.get("mcp").into_iter().chain([&document]);
    if !has_place && let Some(table) = tables.into_iter().find(|table| is_table_of_servers(table)) {
        has_place = true;
        found.add(table, None);
    }
    if !has_place && is_server(&document) {
        has_place = true;
        found.servers.push(FoundServer {
            name: String::new(),
            entry: document.clone(),
            project: None,
        });
    }
    if has_place {
        return Ok(found);
    }
    Err(format!(
        "the file has no MCP servers in a form that is known. Known are the files of {PROGRAMS}, and \
         files like {{\"mcpServers\": {{\"NAME\": {{\"command\": \"...\", \"args\": []}}}}}}"
    ))
}

impl FoundServers {
    /// Adds the servers of a table, or of a list with names.
    fn add(&mut self, table: &Value, project: Option<&String>) {
        let project = project.cloned();
        match table {
            Value::Object(servers) => self.servers.extend(servers.iter().map(|(name, entry)| {
                FoundServer { name: name.clone(), entry: entry.clone(), project: project.clone() }
            })),
            Value::Array(servers) => self.servers.extend(servers.iter().map(|entry| {
                let name = entry["name"].as_str().unwrap_or_default().to_owned();
                FoundServer { name, entry: entry.clone(), project: project.clone() }
            })),
            _ => {}
        }
    }
}

/// Parses JSON in any form, or TOML.
fn parse(text: &str) -> Result<Value, String> {
    let fault = match parse_loose_json(text) {
        Ok(value) => return Ok(value),
        Err(fault) => fault,
    };
    let document: Result<DocumentMut, _> = text.trim_start_matches('\u{feff}').parse();
    match document {
        // An empty file is an empty table, too.
        Ok(document) if !document.is_empty() => Ok(value_of(document.as_item())),
        _ => Err(format!("the file is not JSON: {fault}")),
    }
}

fn value_of(item: &Item) -> Value {
    let table = |table: &dyn TableLike| {
        let pairs = table.iter().map(|(key, item)| (key.to_owned(), value_of(item)));
        Value::Object(pairs.collect())
    };
    match item {
        Item::None => Value::Null,
        Item::Table(one) => table(one),
        Item::ArrayOfTables(list) => list.iter().map(|one| table(one)).collect(),
        Item::Value(value) => match value {
            toml_edit::Value::String(text) => Value::from(text.value().as_str()),
            toml_edit::Value::Integer(number) => Value::from(*number.value()),
            toml_edit::Value::Float(number) => Value::from(*number.value()),
            toml_edit::Value::Boolean(bool) => Value::from(*bool.value()),
            toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
            toml_edit::Value::Array(list) => {
                list.iter().map(|one| value_of(&Item::Value(one.clone()))).collect()
            }
            toml_edit::Value::InlineTable(one) => table(one),
        },
    }
}

/// Returns the table at a place; `None` if it is no table.
fn value_at<'v>(document: &'v Value, place: &[&str]) -> Option<&'v Value> {
    let found = place.iter().try_fold(document, |value, key| value.get(key))?;
    (found.is_object() || found.is_array()).then_some(found)
}

fn is_server(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        ["command", "httpUrl", "serverUrl", "url"].iter().any(|key| object.contains_key(*key))
    })
}

/// Returns `true` if some of the values are servers, and no value is of another kind than an object.
fn is_table_of_servers(value: &Value) -> bool {
    let has_key =
        |entry: &Map<String, Value>| OF_SERVERS.iter().any(|key| entry.contains_key(*key));
    value.as_object().is_some_and(|table| {
        table.values().all(|entry| entry.is_object() || entry.is_string())
            && table.values().any(|entry| entry.as_object().is_some_and(has_key))
    })
}

/// Reads the descriptions of inputs, as VS Code has them.
fn read_inputs(document: &Value) -> BTreeMap<String, String> {
    let inputs = ["/inputs", "/mcp/inputs"].iter().find_map(|place| document.pointer(place));
    let inputs = inputs.and_then(Value::as_array).into_iter().flatten();
    let named = inputs.filter_map(|input| {
        let text = |key: &str| input[key].as_str().map(str::to_owned);
        Some((text("id")?, text("description")?))
    });
    named.collect()
}
