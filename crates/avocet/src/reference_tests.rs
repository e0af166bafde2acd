//! Writes the reference of all configuration keys from the doc comments of their types, and holds the
//! page of the book equal to it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use avocet_config::{ConfigSettings, GatewayClient, ProfileKeys, ScheduleTable, keys, schema};
use avocet_http::{HookConfig, HttpConfig, HttpToken};
use avocet_llm::{EmbeddingsConfig, ModelConfig, SpeechConfig, TranscriptionConfig};
use avocet_mcp::McpServerConfig;
use avocet_telemetry::TelemetryConfig;
use avocet_tools::SearchConfig;
use serde_json::Value;

use crate::registry::{CHANNELS, PROVIDERS};

const EXAMPLE: &str = include_str!("../../../config.example.toml");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/operate/reference.md");
/// The file of the defaults that `avocet config get` prints.
const DEFAULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/setup/config/defaults.toml");
const HEAD: &str = "# Configuration reference

Each key of the configuration. The column shows a default that `config.example.toml` sets; the text states the others. \
The page is made from the doc comments in the code. That file is the short tour, and \
[Configuration](configuration.md) explains references to secrets.
";

/// A table of the configuration.
struct ConfigTable {
    /// Its path, with upper-case words for free names; empty for the top level.
    path: String,
    /// The value of its key `kind`, if that decides about its keys.
    kind: Option<&'static str>,
    /// The table of the example that shows its defaults.
    example: String,
    schema: Value,
}

impl ConfigTable {
    fn new(path: &str, example: &str, schema: Value) -> Self {
        let (path, example) = (path.to_owned(), example.to_owned());
        Self { path, kind: None, example, schema }
    }

    fn heading(&self) -> String {
        match (self.path.as_str(), self.kind) {
            ("", _) => "Top level".to_owned(),
            (path, None) => format!("`[{path}]`"),
            (path, Some(kind)) => format!("`[{path}]`, kind `{kind}`"),
        }
    }

    /// Returns a table in this one.
    fn below(&self, key: &str, schema: &Value) -> Self {
        let join = |above: &str| match above {
            "" => key.to_owned(),
            above => format!("{above}.{key}"),
        };
        let (path, example) = (join(&self.path), join(&self.example));
        Self { path, kind: None, example, schema: schema.clone() }
    }
}

/// The whole configuration, then the tables with free names and those of components.
fn tables() -> Vec<ConfigTable> {
    let model = ("models.\"PROVIDER/MODEL\"", "models.\"local/qwen3*\"");
    let mut tables = vec![
        ConfigTable::new("", "", schema::<ConfigSettings>()),
        ConfigTable::new("agents.NAME", "agents.work", schema::<ProfileKeys>()),
        ConfigTable::new(model.0, model.1, schema::<ModelConfig>()),
        ConfigTable::new("gateway.clients.NAME", "gateway.clients.ci", schema::<GatewayClient>()),
        ConfigTable::new("schedules.NAME", "schedules.morning", schema::<ScheduleTable>()),
        ConfigTable::new("transcription", "transcription", schema::<TranscriptionConfig>()),
        ConfigTable::new("speech", "speech", schema::<SpeechConfig>()),
        ConfigTable::new("embeddings", "embeddings", schema::<EmbeddingsConfig>()),
        ConfigTable::new("http", "http", schema::<HttpConfig>()),
        ConfigTable::new("http.tokens.NAME", "http.tokens.phone", schema::<HttpToken>()),
        ConfigTable::new("hooks.NAME", "hooks.github", schema::<HookConfig>()),
        ConfigTable::new("telemetry", "telemetry", schema::<TelemetryConfig>()),
        ConfigTable::new(
            "tools.mcp_servers.NAME",
            "tools.mcp_servers.files",
            schema::<McpServerConfig>(),
        ),
        ConfigTable::new("tools.web_search", "tools.web_search", schema::<SearchConfig>()),
    ];
    for kind in PROVIDERS {
        let table = ((kind.table)().schema)();
        let table = ConfigTable::new("providers.NAME", &example_of(kind.name), table);
        tables.push(ConfigTable { kind: Some(kind.name), ..table });
    }
    for kind in CHANNELS {
        let path = format!("channels.{}", kind.name);
        tables.push(ConfigTable::new(&path, &path, ((kind.table)().schema)()));
    }
    tables
}

/// The table of the example's provider of this kind; empty for the embedded one, which has no keys.
fn example_of(kind: &str) -> String {
    let (wanted, mut table) = (format!("kind = \"{kind}\""), "");
    for line in EXAMPLE.lines().map(|line| line.trim_start_matches('#')) {
        if let Some(heading) = line.strip_prefix('[') {
            table = heading.split(']').next().unwrap_or_default();
        } else if line == wanted {
            return table.to_owned();
        }
    }
    String::new()
}

/// The keys of the example that have a value there, by table and key. A key after `#` only shows a
/// possible value, and a value of several lines is left out.
fn defaults() -> BTreeMap<(String, String), String> {
    let (mut found, mut table) = (BTreeMap::new(), String::new());
    for line in EXAMPLE.lines() {
        let heading = line.trim_start_matches('#').strip_prefix('[');
        if let Some(name) = heading.and_then(|rest| rest.split(']').next()) {
            name.clone_into(&mut table);
        } else if let Some((key, value)) = line.split_once(" = ")
            && !key.starts_with('#')
        {
            let value = value.split(" # ").next().unwrap_or_default().trim().to_owned();
            if !value.ends_with('[') {
                found.insert((table.clone(), key.to_owned()), value);
            }
        }
    }
    found
}

/// The text of a doc comment, on one line of a table.
fn meaning(property: &Value) -> String {
    let mut text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
    let options = ["oneOf", "anyOf"].into_iter().find_map(|key| property[key].as_array());
    for option in options.into_iter().flatten() {
        if let (Some(value), Some(doc)) = (option["const"].as_str(), option["description"].as_str())
        {
            write!(text, " `{value}`: {}", doc.replace('\n', " ")).unwrap();
        }
    }
    text.replace('|', "\\|")
}

/// Writes a table and the tables in it.
fn write_table(
    page: &mut String,
    table: &ConfigTable,
    defaults: &BTreeMap<(String, String), String>,
) {
    let schema = &table.schema;
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let inner = choices.map(|one| &one["properties"]).find(|inner| inner.is_object());
    let properties = inner.unwrap_or(&schema["properties"]);
    let (mut rows, mut below) = (String::new(), Vec::new());
    for (key, property) in properties.as_object().into_iter().flatten() {
        let group = &property["additionalProperties"];
        if table.path.starts_with("channels.") && group["properties"].is_object() {
            below.push(table.below(&format!("{key}.ID"), group));
        }
        if property["properties"].is_object() || property["anyOf"][0]["properties"].is_object() {
            below.push(table.below(key, property));
            continue;
        }
        let default = defaults.get(&(table.example.clone(), key.clone()));
        let default = default.map(|value| format!("`{}`", value.replace('|', "\\|")));
        let (default, meaning) = (default.unwrap_or_default(), meaning(property));
        writeln!(rows, "| `{key}` | {default} | {meaning} |").unwrap();
    }
    if !rows.is_empty() {
        write!(page, "\n## {}\n\n", table.heading()).unwrap();
        if let Some(about) = schema["description"].as_str() {
            write!(page, "{}\n\n", about.replace('\n', " ")).unwrap();
        }
        write!(page, "| key | default | meaning |\n|---|---|---|\n{rows}").unwrap();
    }
    below.iter().for_each(|inner| write_table(page, inner, defaults));
}

#[test]
fn reference_of_the_book_is_made_from_the_doc_comments() {
    let (mut page, defaults) = (HEAD.to_owned(), defaults());
    tables().iter().for_each(|table| write_table(&mut page, table, &defaults));
    let shown = fs::read_to_string(PAGE).unwrap_or_default();
    if shown != page {
        fs::write(PAGE, &page).unwrap();
        panic!("{PAGE} was out of date and is now written anew: read the change and commit it");
    }
}

#[test]
fn defaults_of_config_get_are_those_of_the_example() {
    let defaults = defaults();
    let mut text =
        "# The keys with a default in config.example.toml. A test writes this file.\n".to_owned();
    let mut heading = String::new();
    for path in keys(&schema::<ConfigSettings>()) {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", &path));
        if let Some(value) = defaults.get(&(table.to_owned(), key.to_owned())) {
            if heading != table {
                writeln!(text, "\n[{table}]").unwrap();
                table.clone_into(&mut heading);
            }
            writeln!(text, "{key} = {value}").unwrap();
        }
    }
    if fs::read_to_string(DEFAULTS).unwrap_or_default() != text {
        fs::write(DEFAULTS, &text).unwrap();
        panic!("{DEFAULTS} was out of date and is now written anew: read the change and commit it");
    }
}
