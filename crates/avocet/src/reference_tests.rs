//! Writes the reference of all configuration keys from the doc comments of their types, and holds the
//! page of the book equal to it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use avocet_channel_kit::GroupConfig;
use avocet_config::{ProfileKeys, Settings};
use avocet_discord::DiscordConfig;
use avocet_llm::{
    AnthropicConfig, GeminiConfig, ModelConfig, OllamaConfig, OpenAiConfig, TranscriptionConfig,
};
use avocet_telegram::TelegramConfig;
use avocet_terminal::TerminalConfig;
use avocet_tools::SearchConfig;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../../config.example.toml");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/operate/reference.md");
const HEAD: &str = "# Configuration reference

Each key of the configuration, with its default. A key without a default is left out unless you set it. \
The page is made from the doc comments in the code. The file `config.example.toml` is the short tour, and \
[Configuration](configuration.md) explains references to secrets.
";

/// The tables with free names and the tables of components: the heading, the table of the example
/// that shows the defaults, and the schema.
fn components() -> [(&'static str, &'static str, Value); 13] {
    [
        ("agents.NAME", "agents.work", schema::<ProfileKeys>()),
        ("models.\"PROVIDER/MODEL\"", "models.\"local/qwen3*\"", schema::<ModelConfig>()),
        ("transcription", "transcription", schema::<TranscriptionConfig>()),
        ("tools.web_search", "tools.web_search", schema::<SearchConfig>()),
        ("providers.NAME, kind = \"openai\"", "providers.local", schema::<OpenAiConfig>()),
        ("providers.NAME, kind = \"anthropic\"", "providers.claude", schema::<AnthropicConfig>()),
        ("providers.NAME, kind = \"gemini\"", "providers.google", schema::<GeminiConfig>()),
        ("providers.NAME, kind = \"ollama\"", "providers.home", schema::<OllamaConfig>()),
        ("channels.terminal", "channels.terminal", schema::<TerminalConfig>()),
        ("channels.telegram", "channels.telegram", schema::<TelegramConfig>()),
        ("channels.discord", "channels.discord", schema::<DiscordConfig>()),
        ("channels.telegram.groups.ID", "", schema::<GroupConfig>()),
        ("channels.discord.groups.ID", "", schema::<GroupConfig>()),
    ]
}

fn schema<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// The keys and values of the example, by table and key. A value of several lines is left out.
fn defaults() -> BTreeMap<(String, String), String> {
    let (mut found, mut table) = (BTreeMap::new(), String::new());
    for line in EXAMPLE.lines() {
        let (line, is_shown) = match line.strip_prefix('#') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            name.clone_into(&mut table);
        } else if let Some((key, value)) = line.split_once(" = ")
            && !is_shown
            && !key.contains(' ')
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
fn section(
    page: &mut String,
    heading: &str,
    example: &str,
    schema: &Value,
    defaults: &BTreeMap<(String, String), String>,
) {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let inner = choices.map(|one| &one["properties"]).find(|inner| inner.is_object());
    let properties = inner.unwrap_or(&schema["properties"]);
    let (mut rows, mut below) = (String::new(), Vec::new());
    for (key, property) in properties.as_object().into_iter().flatten() {
        let is_table =
            property["properties"].is_object() || property["anyOf"][0]["properties"].is_object();
        if is_table {
            below.push((key, property));
            continue;
        }
        let default = defaults.get(&(example.to_owned(), key.clone()));
        let default = default.map(|value| format!("`{}`", value.replace('|', "\\|")));
        let (default, meaning) = (default.unwrap_or_default(), meaning(property));
        writeln!(rows, "| `{key}` | {default} | {meaning} |").unwrap();
    }
    if !rows.is_empty() {
        let heading = if heading.is_empty() {
            "Top level".to_owned()
        } else {
            format!("`[{heading}]`").replace(", kind = ", "]`, kind `").replace("\"]`", "`")
        };
        let heading = heading.replace("kind `\"", "kind `");
        write!(page, "\n## {heading}\n\n").unwrap();
        if let Some(about) = schema["description"].as_str() {
            write!(page, "{}\n\n", about.replace('\n', " ")).unwrap();
        }
        write!(page, "| key | default | meaning |\n|---|---|---|\n{rows}").unwrap();
    }
    for (key, property) in below {
        let path = |above: &str| match above {
            "" => key.clone(),
            above => format!("{above}.{key}"),
        };
        section(page, &path(heading), &path(example), property, defaults);
    }
}

#[test]
fn reference_of_the_book_is_made_from_the_doc_comments() {
    let (mut page, defaults) = (HEAD.to_owned(), defaults());
    section(&mut page, "", "", &schema::<Settings>(), &defaults);
    for (heading, example, schema) in components() {
        section(&mut page, heading, example, &schema, &defaults);
    }
    let shown = fs::read_to_string(PAGE).unwrap_or_default();
    if shown != page {
        fs::write(PAGE, &page).unwrap();
        panic!("{PAGE} was out of date and is now written anew: read the change and commit it");
    }
}
