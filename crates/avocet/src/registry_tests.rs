//! Tests that the shipped example configuration is complete, shows the defaults, and is valid.

use std::fmt::Debug;
use std::sync::Arc;

use avocet_channel_kit::GroupConfig;
use avocet_config::{
    ConfigDocument, ConfigError, ConfigSettings, ProfileKeys, ScheduleTable, keys, schema,
};
use avocet_external::ExternalGroup;
use avocet_http::{HookConfig, HttpConfig, HttpToken};
use avocet_llm::{
    AudioHealth, EmbeddingsConfig, ModelConfig, OpenAiConfig, SpeechConfig, TranscriptionConfig,
};
use avocet_mcp::McpServerConfig;
use avocet_protocol::clock::Clock;
use avocet_supervise::SystemClock;
use avocet_telemetry::TelemetryConfig;
use avocet_testkit::ManualClock;
use avocet_text::Secret;
use avocet_tools::SearchConfig;
use serde_json::{Value, json};

use super::{CHANNELS, DeclaredTable, PROVIDERS, make_channels, providers};
use crate::components::models;

/// Checks the tables as a start does.
fn check(document: &ConfigDocument, settings: &ConfigSettings) -> Result<(), ConfigError> {
    super::check_components(document, settings)?;
    models::check_models(document, settings)
}

const EXAMPLE: &str = include_str!("../../../config.example.toml");

fn parse(text: &str) -> ConfigDocument {
    let environment = |name: &str| match name {
        "DISCORD_TOKEN" => Some("a.b.c".to_owned()),
        "DISCORD_PROXY" | "TELEGRAM_PROXY" => {
            Some("socks5h://ann:secret@127.0.0.1:1080".to_owned())
        }
        "TELEGRAM_TOKEN" => Some("1:a".to_owned()),
        name => Some(format!("the-value-of-{name}")),
    };
    ConfigDocument::parse(text.to_owned(), None, &environment).unwrap()
}

/// The example with the keys that have no default: those whose `#` stands directly before a name.
fn whole() -> ConfigDocument {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(key) if key.starts_with(|c: char| c.is_ascii_lowercase() || c == '[') => {
            format!("{key}\n")
        }
        _ => format!("{line}\n"),
    };
    parse(&EXAMPLE.lines().map(line).collect::<String>())
}

#[test]
fn example_configuration_passes_the_check() {
    for document in [parse(EXAMPLE), whole()] {
        let settings = document.table("").unwrap();
        check(&document, &settings).unwrap();
    }
}

/// The tables of the components in the example, with their paths. The embedded provider needs none.
fn shown_tables() -> Vec<(String, DeclaredTable)> {
    let document = whole();
    let mut tables = vec![
        ("transcription".to_owned(), DeclaredTable::for_type::<TranscriptionConfig>()),
        ("speech".to_owned(), DeclaredTable::for_type::<SpeechConfig>()),
        ("embeddings".to_owned(), DeclaredTable::for_type::<EmbeddingsConfig>()),
        ("http".to_owned(), DeclaredTable::for_type::<HttpConfig>()),
        ("http.tokens.phone".to_owned(), DeclaredTable::for_type::<HttpToken>()),
        ("hooks.github".to_owned(), DeclaredTable::for_type::<HookConfig>()),
        ("telemetry".to_owned(), DeclaredTable::for_type::<TelemetryConfig>()),
        ("tools.mcp_servers.files".to_owned(), DeclaredTable::for_type::<McpServerConfig>()),
        ("tools.web_search".to_owned(), DeclaredTable::for_type::<SearchConfig>()),
        ("models.local/qwen3*".to_owned(), DeclaredTable::for_type::<ModelConfig>()),
    ];
    let shown = document.get("providers").unwrap().as_object().unwrap();
    for kind in PROVIDERS.iter().filter(|kind| kind.name != "offline") {
        let table = shown.iter().find(|(_, table)| table["kind"] == kind.name);
        let (name, _) = table.unwrap_or_else(|| panic!("the example has no {}", kind.name));
        tables.push((format!("providers.{name}"), (kind.table)()));
    }
    for kind in CHANNELS {
        let table = format!("channels.{}", kind.name);
        let groups = document.get(&format!("{table}.groups")).and_then(Value::as_object);
        for group in groups.into_iter().flatten().map(|(group, _)| group) {
            let declared = match kind.name {
                "external" => DeclaredTable::for_type::<ExternalGroup>(),
                _ => DeclaredTable::for_type::<GroupConfig>(),
            };
            tables.push((format!("{table}.groups.{group}"), declared));
        }
        tables.push((table, (kind.table)()));
    }
    tables
}

#[test]
fn example_configuration_names_every_key() {
    let document = whole();
    let mut expected = keys(&schema::<ConfigSettings>());
    for (path, table) in shown_tables() {
        expected.extend(keys(&(table.schema)()).into_iter().map(|key| format!("{path}.{key}")));
    }
    for key in expected {
        assert!(document.get(&key).is_some(), "config.example.toml does not show `{key}`");
    }
    for key in keys(&schema::<ProfileKeys>()) {
        let shown = ["work", "defaults"].map(|name| format!("agents.{name}.{key}"));
        let shown = shown.iter().any(|path| document.get(path).is_some());
        assert!(shown, "config.example.toml does not show `{key}` of an agent");
    }
    for kind in PROVIDERS {
        let shown = format!("kind = \"{}\"", kind.name);
        assert!(EXAMPLE.contains(&shown), "config.example.toml does not name {shown}");
    }
}

/// Lists the tables of a schema whose type ignores keys that it does not know.
fn lenient_tables(place: &str, schema: &Value, found: &mut Vec<String>) {
    if schema["properties"].is_object() && schema["additionalProperties"].is_null() {
        found.push(place.to_owned());
    }
    let children: Vec<(String, &Value)> = match schema {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => return,
    };
    for (name, value) in children {
        lenient_tables(&format!("{place}/{name}"), value, found);
    }
}

/// A document looks for unknown keys only after its type has refused the table.
#[test]
fn types_of_tables_deny_unknown_keys() {
    let mut tables = shown_tables();
    tables.push((String::new(), DeclaredTable::for_type::<ConfigSettings>()));
    tables.push(("schedules.x".to_owned(), DeclaredTable::for_type::<ScheduleTable>()));
    let mut found = Vec::new();
    for (path, table) in tables {
        lenient_tables(&path, &(table.schema)(), &mut found);
    }
    assert_eq!(found, [""; 0], "write #[serde(deny_unknown_fields)] at their types");
}

#[test]
fn example_configuration_shows_the_defaults() {
    let document = parse(EXAMPLE);
    let shown: ConfigSettings = document.table("").unwrap();
    let shown =
        ConfigSettings { providers: Default::default(), channels: Default::default(), ..shown };
    same(&shown, &ConfigSettings::default());
    let document = whole();
    let tables = shown_tables();
    for (path, table) in tables.iter().filter(|(path, _)| path != "tools.web_search") {
        let default = (table.read)(json!({}));
        // The example shows a possible value of a key that is empty by default.
        let is_empty = |key: &str| {
            ["None", "[]", "{}", "\"\""]
                .iter()
                .any(|value| default.contains(&format!(" {key}: {value}")))
        };
        let keys = document.get(path).unwrap().as_object().unwrap();
        for (key, value) in keys.iter().filter(|(key, _)| *key != "kind" && !is_empty(key)) {
            assert_eq!((table.read)(json!({ key: value })), default, "{path}.{key}");
        }
    }
}

#[test]
fn channel_has_one_account_or_a_table_for_each() {
    let cases = [
        ("[channels.telegram]\ntoken = \"1:a\"\n", &["telegram:main"][..]),
        (
            "[channels.telegram.work]\ntoken = \"1:a\"\n[channels.telegram.home]\ntoken = \"2:b\"\n",
            &["telegram:home", "telegram:work"],
        ),
        ("[channels.directory]\npath = \"/a\"\n", &["directory:main"][..]),
        (
            "[channels.directory.home]\npath = \"a\"\n[channels.directory.work]\npath = \"b\"\n",
            &["directory:home", "directory:work"],
        ),
        ("[channels.discord]\ntoken = \"a.b.c\"\n", &["discord:main"][..]),
        ("[channels.discord.work]\ntoken = \"a.b.c\"\n", &["discord:work"][..]),
        ("[channels.irc]\ncommand = [\"irc\"]\n", &["external:irc"]),
        ("[channels.external.irc]\ncommand = [\"irc\"]\n", &["external:irc"]),
        (
            "[channels.external]\npairing = false\n[channels.mail]\ncommand = [\"mail\"]\n",
            &["external:main", "external:mail"],
        ),
    ];
    for (text, expected) in cases {
        let document = parse(text);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let found =
            make_channels(&document, &document.table("").unwrap(), &clock).unwrap().channels;
        let names =
            found.iter().map(|one| format!("{}:{}", one.channel.name(), one.channel.account()));
        let always = ["terminal:local", "web:console"];
        let made: Vec<String> = names.filter(|name| !always.contains(&name.as_str())).collect();
        assert_eq!(made, expected, "{text}");
    }
}

#[test]
fn check_refuses_programs_with_the_name_of_a_channel_or_of_another_program() {
    let table = [
        ("[channels.web]\ncommand = [\"x\"]\n", "unknown key `web` in [channels]"),
        ("[channels.irc]\nallow = []\n", "unknown key `irc` in [channels]"),
        (
            "[channels.irc]\ncommand = [\"a\"]\n[channels.external.irc]\n",
            "`channels.irc` and `channels.external.irc` are the same account",
        ),
        ("[channels.irc]\ncommand = []\nread = [\"/a\"]\n", "`command`, which is missing"),
        (
            "[channels.irc]\ncommand = [\"a\"]\nhosts = [\"a b\"]\n",
            "`channels.irc.hosts[0]`: \"a b\" is not valid",
        ),
    ];
    for (text, expected) in table {
        let document = parse(text);
        let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn check_refuses_a_directory_without_a_path_and_two_in_one_another() {
    let table = [
        (
            "[channels.directory]\n",
            "1:11: [channels.directory]: there is no path; name a separate directory",
        ),
        ("[channels.directory]\npath = \"\"\n", "[channels.directory]: there is no path"),
        (
            "[channels.directory.a]\npath = \"/x\"\n[channels.directory.b]\npath = \"/x/y\"\n",
            "4:1: `channels.directory.b.path` and `channels.directory.a.path` overlap",
        ),
        (
            "[channels.directory.a]\npath = \"/x\"\n[channels.directory.b]\npath = \"/x\"\n",
            "overlap; separate them",
        ),
    ];
    for (text, says) in table {
        let document = parse(text);
        let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn check_error_of_an_unknown_tool_format_lists_the_formats() {
    let document = parse("[providers.local]\nkind = \"openai\"\ntools = \"yaml\"\n");
    let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
    assert!(error.contains("3:1"), "{error}");
    assert!(error.contains("yaml") && error.contains("`native`") && error.contains("`hermes`"));
}

#[test]
fn provider_headers_and_extra_body_may_use_variables() {
    let document = parse(
        "[providers.local]\nkind = \"openai\"\nheaders = { \"X-Key.1\" = \"${KEY}\" }\n\
         extra_body = { top_p = 0.9, chat_template_kwargs = { enable_thinking = false } }\n",
    );
    check(&document, &document.table("").unwrap()).unwrap();
    let config: OpenAiConfig = providers::read_table(&document, "providers.local").unwrap();
    assert_eq!(config.headers["X-Key.1"].expose(), "the-value-of-KEY");
    assert_eq!(config.extra_body["chat_template_kwargs"]["enable_thinking"], false);
    let document = parse("[providers.local]\nkind = \"openai\"\ntemperature = 3\n");
    let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
    assert!(error.contains("3:1") && error.contains("3 is not from 0 to 2"), "{error}");
}

#[test]
fn check_error_names_the_line_of_an_invalid_value() {
    let document = parse("\n[transcription]\nbase_url = \"whisper\"\n");
    let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
    assert!(error.contains("transcription.base_url") && error.contains('3'), "{error}");
    let document = parse("[providers.claude]\nkind = \"anthropic\"\nthinking_tokens = 99\n");
    let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
    let says = "`providers.claude.thinking_tokens`: 99 is too few; it must be at least 1024";
    assert!(error.contains(says) && error.contains('3'), "{error}");
    let off = parse("");
    let settings = off.table("").unwrap();
    let clock = Arc::new(ManualClock::default());
    let health = Arc::new(AudioHealth::new(clock.clone()));
    let off = super::make_transcriber(&off, &settings, clock, health).unwrap();
    assert!(off.is_none());
}

#[test]
fn check_error_of_a_search_engine_explains_the_correction() {
    let table = [
        ("provider = \"barve\"", 2, "provider`: there is no such provider; did you mean `brave`?"),
        ("provider = \"bing\"", 2, "the providers are brave, duckduckgo, searxng, tavily"),
        ("provider = \"brave\"", 1, "api_key`: brave needs a key"),
        (
            "provider = \"searxng\"",
            1,
            "base_url`: searxng is a server of your own: give its address",
        ),
        ("provider = \"searxng\"\nbase_url = \"here\"", 3, "base_url`: it is not the URL"),
        ("provider = \"tavily\"\napi_key = \"a\\nb\"", 3, "api_key`: it cannot be sent"),
        ("provider = \"brave\"\nkey = \"a\"", 3, "the keys are provider, base_url, api_key"),
        ("base_url = \"http://a.dev\"", 1, "`provider` is missing"),
    ];
    for (text, line, says) in table {
        let document = parse(&format!("[tools.web_search]\n{text}\n"));
        let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert!(error.contains(&format!(":{line}:")), "{text}: {error}");
    }
    let fine = [
        "provider = \"duckduckgo\"",
        "provider = \"searxng\"\nbase_url = \"http://127.0.0.1:8888\"",
        "provider = \"tavily\"\napi_key = \"${KEY}\"",
    ];
    for text in fine {
        let document = parse(&format!("[tools.web_search]\n{text}\n"));
        check(&document, &document.table("").unwrap()).unwrap();
    }
}

#[test]
fn check_error_of_embeddings_names_the_key() {
    const PROVIDERS: &str =
        "[providers.a]\nkind = \"anthropic\"\n[providers.o]\nkind = \"ollama\"\n";
    let table = [
        ("model = \"m\"", "`embeddings.provider`: it must name a table in [providers]"),
        ("provider = \"o\"", "`embeddings.model`: it must name an embedding model"),
        ("provider = \"x\"\nmodel = \"m\"", "there is no table [providers.x]"),
        ("provider = \"a\"\nmodel = \"m\"", "the provider a has no embeddings; use one of kind"),
    ];
    for (text, says) in table {
        let document = parse(&format!("{PROVIDERS}[embeddings]\n{text}\n"));
        let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let fine = format!("{PROVIDERS}[embeddings]\nprovider = \"o\"\nmodel = \"m\"\n");
    let document = parse(&fine);
    check(&document, &document.table("").unwrap()).unwrap();
}

#[test]
fn check_error_of_the_http_interface_names_the_line() {
    let table = [
        ("[http]\nlisten = \"127.0.0.1:8470\"\n", "2:1", "add a table [http.tokens.NAME]"),
        ("[http]\nlisten = \"0.0.0.0:8470\"\n", "2:1", "allow_remote = true"),
        ("[http]\nlisten = 8470\n", "2:1", "`http.listen`"),
        ("[http]\nlistne = \"127.0.0.1:1\"\n", "2:1", "did you mean `listen`?"),
        ("[http]\nhosts = [\"a\", \"b/c\"]\n", "2:15", "`http.hosts[1]`: \"b/c\" is not a host"),
        ("[http.tokens.a]\ntoken = \"short\"\n", "2:1", "at least 16 visible ASCII characters"),
        ("[http.tokens.a]\n", "1:14", "add the key `token`"),
        ("[http.tokens.a]\ntokne = \"x\"\n", "", "tokne"),
        ("[http.tokens.a]\ntoken = \"0123456789abcdef\"\n", "1:14", "the client reaches no chat"),
        (
            "[hooks.a]\nsecret = \"0123456789abcdef\"\nsession = \"terminal:local:a\"\ntext = \"x\"\n",
            "1:8",
            "`hooks.a`: a webhook needs the HTTP interface",
        ),
        (
            "[channels.telegram.a]\ntoken = \"1:a\"\nwebhook = \"https://bus.example\"\n",
            "3:1",
            "`channels.telegram.a.webhook`: it needs the HTTP interface",
        ),
        (
            "[channels.telegram]\ntoken = \"1:a\"\nwebhook = \"http://bus.example\"\n",
            "3:1",
            "`channels.telegram.webhook`: \"http://bus.example\" does not begin with https://",
        ),
        ("[hooks.a]\nsecrte = \"x\"\n", "2:1", "did you mean `secret`?"),
        ("[hooks.a]\n", "1:8", "`hooks.a.secret`: a secret has at least 16 characters"),
        ("[hooks.a]\nsecret = \"0123456789abcdef\"\nsession = \"b\"\n", "3:1", "hooks.a.session"),
    ];
    for (text, place, says) in table {
        let document = parse(text);
        let error = check(&document, &document.table("").unwrap()).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(place), "{text}: {error}");
    }
    // A command without the daemon's secrets checks the other keys.
    let text = "[http]\nlisten = \"127.0.0.1:1\"\n[http.tokens.a]\ntoken = \"${A}\"\nchats = [\"*\"]\n\
        [http.tokens.b]\ntoken = \"${B}\"\nchats = [\"*\"]\n[hooks.c]\nsecret = \"${C}\"\n\
        session = \"terminal:local:c\"\ntext = \"{{ action }}\"\n[channels.telegram]\n\
        token = \"${D}\"\nwebhook = \"https://bus.example\"\n";
    let references = avocet_config::UsedReferences::Possible;
    let document =
        ConfigDocument::parse_with(text.to_owned(), None, &|_| None, references).unwrap();
    check(&document, &document.table("").unwrap()).unwrap();
}

fn same<T: Debug>(shown: &T, default: &T) {
    assert_eq!(format!("{shown:#?}"), format!("{default:#?}"));
}

/// Returns the keys of a table whose values are secrets.
fn secret_keys(schema: &Value) -> Vec<String> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let is_secret = |property: &Value| property.to_string().contains("x-secret");
    properties.filter(|(_, property)| is_secret(property)).map(|(key, _)| key.clone()).collect()
}

#[test]
fn secret_keys_are_all_secrets_of_a_document() {
    let without = [
        "channels.directory",
        "channels.external",
        "channels.terminal",
        "embeddings",
        "http",
        "models.local/qwen3*",
    ];
    let tables = shown_tables().into_iter();
    let tables = tables.filter(|(path, _)| !without.contains(&&**path) && !path.contains("groups"));
    for (path, table) in tables {
        let keys = secret_keys(&(table.schema)());
        assert!(!keys.is_empty(), "{path}");
        for key in keys {
            let value = match key.as_str() {
                "env" => "{ API_KEY = \"a-literal-secret\" }",
                "headers" => "{ \"X.1\" = \"a-literal-secret\" }",
                "oauth" => "{ client_secret = \"a-literal-secret\" }",
                _ => "\"a-literal-secret\"",
            };
            let document = parse(&format!("[some.table]\n{key} = {value}\n"));
            let secrets: Vec<&str> = document.secrets().iter().map(Secret::expose).collect();
            assert_eq!(secrets, ["a-literal-secret"], "{key}");
        }
    }
    let document =
        parse("a = \"${HOME}/x\"\nb = [\"to ${KEY} and ${XDG_STATE_HOME}\"]\nc = \"d\"\n");
    let secrets: Vec<&str> = document.secrets().iter().map(Secret::expose).collect();
    assert_eq!(secrets, ["the-value-of-KEY"]);
}
