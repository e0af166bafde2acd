//! Finds the tables of MCP servers in the files of other programs.
//!
//! | program | file | place |
//! |---|---|---|
//! | Claude Code | `.mcp.json`, `~/.claude.json` | `mcpServers`, `projects.DIR.mcpServers` |
//! | Claude Desktop, Cursor, Gemini CLI, Windsurf and others | several | `mcpServers` |
//! | Codex | `~/.codex/config.toml` | `mcp_servers` |
//! | Continue | `config.yaml` | `mcpServers`, as a list |
//! | Dev containers | `devcontainer.json` | `customizations.vscode.mcp.servers` |
//! | Goose | `config.yaml` | `extensions` |
//! | Hermes, `LibreChat` | YAML | `mcp_servers`, `mcpServers` |
//! | nanobot, `PicoClaw` | `config.json` | `tools.mcpServers`, `tools.mcp.servers` |
//! | OpenClaw | `openclaw.json` | `mcp.servers` |
//! | opencode | `opencode.json` | `mcp` |
//! | VS Code | `.vscode/mcp.json`, `settings.json` | `servers`, `mcp.servers` |
//! | Zed | `settings.json` | `context_servers` |

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, TableLike};

use super::loose_json::parse_loose_json;
use super::yaml::parse_yaml;

/// The programs whose files are known.
const PROGRAMS: &str = "Claude Code, Claude Desktop, Codex, Continue, Cursor, Gemini CLI, Goose, \
    OpenClaw, opencode, VS Code, Windsurf and Zed";
/// The places of tables in a file, as the ways of their keys.
const PLACES: [&[&str]; 15] = [
    &["mcpServers"],
    &["servers"],
    &["context_servers"],
    &["mcp_servers"],
    &["mcp", "servers"],
    &["mcp", "mcpServers"],
    &["mcp.servers"],
    &["amp.mcpServers"],
    &["tools", "mcp_servers"],
    &["tools", "mcpServers"],
    &["tools", "mcp", "servers"],
    &["settings", "mcp", "servers"],
    &["customizations", "vscode", "mcp", "servers"],
    &["customizations", "vscode", "settings", "mcp", "servers"],
    &["experimental", "modelContextProtocolServers"],
];
/// The keys of which each server has one.
const OF_SERVERS: [&str; 6] = ["command", "httpUrl", "serverUrl", "transport", "type", "url"];

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
    let document = parse_any(text)?;
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
    // The key `mcp` of opencode, `extensions` of Goose, or a file that is a table of servers itself.
    let tables = ["mcp", "extensions"].into_iter().filter_map(|key| document.get(key));
    let tables = tables.chain([&document]);
    if !has_place && let Some(table) = { tables }.find(|table| is_table_of_servers(table)) {
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

/// Parses JSON in any form, TOML or YAML.
fn parse_any(text: &str) -> Result<Value, String> {
    let text = without_fence(text);
    let fault = match parse_loose_json(text) {
        Ok(value) if !value.is_string() => return Ok(value),
        Ok(_) => "line 1: a text in place of an object".to_owned(),
        Err(fault) => fault,
    };
    // A piece of a page, without the braces around it.
    if text.starts_with('"')
        && let Ok(value) = parse_loose_json(&format!("{{{text}}}"))
    {
        return Ok(value);
    }
    let document: Result<DocumentMut, _> = text.trim_start_matches('\u{feff}').parse();
    match document {
        // An empty file is an empty table, too.
        Ok(document) if !document.is_empty() => return Ok(value_of(document.as_item())),
        _ => {}
    }
    let looks_like_json = text.starts_with(['{', '[', '"', '/']);
    let yaml = if looks_like_json { None } else { parse_yaml(text) };
    yaml.ok_or_else(|| format!("the file is not JSON: {fault}"))
}

/// Removes the lines of a code block in Markdown around a text, and blanks at both ends.
fn without_fence(text: &str) -> &str {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let inner = text.strip_prefix("```").and_then(|inner| inner.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((_, inner)) => inner.trim(),
        None => text,
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
