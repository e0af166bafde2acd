//! Tests that the shipped example configuration is complete, shows the defaults, and is valid.

use std::fmt::Debug;
use std::sync::Arc;

use avocet_channel_kit::GroupConfig;
use avocet_config::{Document, ProfileKeys, Settings, keys};
use avocet_directory::DirectoryConfig;
use avocet_discord::DiscordConfig;
use avocet_llm::{
    AnthropicConfig, GeminiConfig, ModelConfig, OllamaConfig, OpenAiConfig, TranscriptionConfig,
};
use avocet_protocol::{Clock, Secret};
use avocet_supervise::SystemClock;
use avocet_telegram::TelegramConfig;
use avocet_terminal::TerminalConfig;
use avocet_testkit::ManualClock;
use avocet_tools::SearchConfig;
use schemars::JsonSchema;

use super::{CHANNELS, PROVIDERS, channels, check, http_config, terminal_config};

const EXAMPLE: &str = include_str!("../../../config.example.toml");
const PROVIDER: &str = "providers.local";
const CLAUDE: &str = "providers.claude";
const GOOGLE: &str = "providers.google";
const HOME: &str = "providers.home";
const GROUPS: [&str; 2] =
    ["channels.discord.groups.1234567890123456789", "channels.telegram.groups.-1001234567890"];

fn parse(text: &str) -> Document {
    let environment = |name: &str| match name {
        "DISCORD_TOKEN" => Some("a.b.c".to_owned()),
        "TELEGRAM_TOKEN" => Some("1:a".to_owned()),
        name => Some(format!("the-value-of-{name}")),
    };
    Document::parse(text.to_owned(), None, &environment).unwrap()
}

/// The example with the keys that have no default: those whose `#` stands directly before a name.
fn whole() -> Document {
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

#[test]
fn example_configuration_names_every_key() {
    let (document, under) = (whole(), |table: &str, keys: Vec<String>| {
        keys.into_iter().map(|key| format!("{table}{key}")).collect::<Vec<_>>()
    });
    let expected = [
        under("", keys::<Settings>()),
        under(&format!("{PROVIDER}."), keys::<OpenAiConfig>()),
        under(&format!("{CLAUDE}."), keys::<AnthropicConfig>()),
        under(&format!("{GOOGLE}."), keys::<GeminiConfig>()),
        under(&format!("{HOME}."), keys::<OllamaConfig>()),
        under("models.local/qwen3*.", keys::<ModelConfig>()),
        under("transcription.", keys::<TranscriptionConfig>()),
        under("tools.web_search.", keys::<SearchConfig>()),
        under("channels.directory.", keys::<DirectoryConfig>()),
        under("channels.discord.", keys::<DiscordConfig>()),
        under("channels.telegram.", keys::<TelegramConfig>()),
        under(&format!("{}.", GROUPS[0]), keys::<GroupConfig>()),
        under(&format!("{}.", GROUPS[1]), keys::<GroupConfig>()),
        under("channels.terminal.", keys::<TerminalConfig>()),
    ];
    for key in expected.iter().flatten() {
        assert!(document.get(key).is_some(), "config.example.toml does not show `{key}`");
    }
    for key in keys::<ProfileKeys>() {
        let shown = ["work", "defaults"].map(|name| format!("agents.{name}.{key}"));
        let shown = shown.iter().any(|path| document.get(path).is_some());
        assert!(shown, "config.example.toml does not show `{key}` of an agent");
    }
    for kind in PROVIDERS {
        let shown = format!("kind = \"{}\"", kind.name);
        assert!(EXAMPLE.contains(&shown), "config.example.toml does not name {shown}");
    }
    for kind in CHANNELS {
        let table = format!("channels.{}", kind.name);
        assert!(document.get(&table).is_some(), "config.example.toml has no [{table}]");
    }
}

#[test]
fn example_configuration_shows_the_defaults() {
    let document = parse(EXAMPLE);
    let shown: Settings = document.table("").unwrap();
    let shown = Settings { providers: Default::default(), channels: Default::default(), ..shown };
    same(&shown, &Settings::default());
    same(&http_config(&document, PROVIDER).unwrap(), &OpenAiConfig::default());
    let claude: AnthropicConfig = http_config(&whole(), CLAUDE).unwrap();
    same(
        &AnthropicConfig { api_key: None, thinking_tokens: None, images: None, ..claude },
        &AnthropicConfig::default(),
    );
    let google: GeminiConfig = http_config(&whole(), GOOGLE).unwrap();
    let (api_key, max_output_tokens, thinking_tokens) = (None, None, None);
    let without =
        GeminiConfig { api_key, max_output_tokens, thinking_tokens, images: None, ..google };
    same(&without, &GeminiConfig::default());
    let home: OllamaConfig = http_config(&whole(), HOME).unwrap();
    let OllamaConfig { base_url, first_token_seconds, .. } = home;
    let OllamaConfig { gap_seconds, total_seconds, max_retries, .. } = home;
    let without = OllamaConfig {
        base_url,
        first_token_seconds,
        gap_seconds,
        total_seconds,
        max_retries,
        ..OllamaConfig::default()
    };
    same(&without, &OllamaConfig::default());
    same(&terminal_config(&document).unwrap(), &TerminalConfig::default());
    let discord: DiscordConfig = whole().table("channels.discord").unwrap();
    let (token, allow, owners, groups) = (None, Vec::new(), Vec::new(), Default::default());
    let without = DiscordConfig { token, allow, owners, groups, ..discord };
    same(&without, &DiscordConfig::default());
    let telegram: TelegramConfig = whole().table("channels.telegram").unwrap();
    let shown: TranscriptionConfig = whole().table("transcription").unwrap();
    same(
        &TranscriptionConfig { api_key: None, language: None, ..shown },
        &TranscriptionConfig::default(),
    );
    let (token, allow, owners, groups) = (None, Vec::new(), Vec::new(), Default::default());
    let without = TelegramConfig { token, allow, owners, groups, ..telegram };
    same(&without, &TelegramConfig::default());
    for group in GROUPS {
        let group: GroupConfig = whole().table(group).unwrap();
        same(&GroupConfig { allow: None, ..group }, &GroupConfig::default());
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
    ];
    for (text, expected) in cases {
        let document = parse(text);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let found = channels(&document, &document.table("").unwrap(), &clock).unwrap().channels;
        let names =
            found.iter().map(|one| format!("{}:{}", one.channel.name(), one.channel.account()));
        let made: Vec<String> = names.filter(|name| !name.starts_with("terminal")).collect();
        assert_eq!(made, expected, "{text}");
    }
}

#[test]
fn check_refuses_a_directory_without_a_path_and_two_in_one_another() {
    let table = [
        (
            "[channels.directory]\n",
            "1:11: [channels.directory]: there is no path; name a directory",
        ),
        ("[channels.directory]\npath = \"\"\n", "[channels.directory]: there is no path"),
        (
            "[channels.directory.a]\npath = \"/x\"\n[channels.directory.b]\npath = \"/x/y\"\n",
            "4:1: `channels.directory.b.path` and `channels.directory.a.path` are in one another",
        ),
        (
            "[channels.directory.a]\npath = \"/x\"\n[channels.directory.b]\npath = \"/x\"\n",
            "are in one another; separate them",
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
    let config: OpenAiConfig = http_config(&document, PROVIDER).unwrap();
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
    let says = "`providers.claude.thinking_tokens`: 99 is too few; it has to be at least 1024";
    assert!(error.contains(says) && error.contains('3'), "{error}");
    let off = parse("");
    let settings = off.table("").unwrap();
    let nobody = super::transcribe(&off, &settings, Arc::new(ManualClock::default())).unwrap();
    assert!(nobody.is_none());
}

#[test]
fn check_error_of_a_search_engine_explains_the_correction() {
    let table = [
        ("provider = \"barve\"", 2, "provider`: there is no such provider; did you mean `brave`?"),
        ("provider = \"bing\"", 2, "the providers are brave, duckduckgo, searxng, tavily"),
        ("provider = \"brave\"", 1, "api_key`: brave wants a key"),
        (
            "provider = \"searxng\"",
            1,
            "base_url`: searxng is a server of your own: say where it is",
        ),
        ("provider = \"searxng\"\nbase_url = \"here\"", 3, "base_url`: it is no URL"),
        ("provider = \"tavily\"\napi_key = \"a\\nb\"", 3, "api_key`: it cannot be sent"),
        ("provider = \"brave\"\nkey = \"a\"", 3, "the keys are api_key, base_url, provider"),
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

fn same<T: Debug>(shown: &T, default: &T) {
    assert_eq!(format!("{shown:#?}"), format!("{default:#?}"));
}

/// Returns the keys of a type whose values are secrets.
fn secret_keys<T: JsonSchema>() -> Vec<String> {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
    let properties = schema["properties"].as_object().unwrap().iter();
    let is_secret = |property: &serde_json::Value| {
        let property = property.to_string();
        property.contains("x-secret") || property.contains("/Secret\"")
    };
    properties.filter(|(_, property)| is_secret(property)).map(|(key, _)| key.clone()).collect()
}

#[test]
fn secret_keys_are_all_secrets_of_a_document() {
    let keys = [
        secret_keys::<AnthropicConfig>(),
        secret_keys::<DiscordConfig>(),
        secret_keys::<GeminiConfig>(),
        secret_keys::<OllamaConfig>(),
        secret_keys::<OpenAiConfig>(),
        secret_keys::<TelegramConfig>(),
        secret_keys::<TranscriptionConfig>(),
    ];
    for keys in keys {
        assert!(!keys.is_empty());
        for key in keys {
            let value = match key.as_str() {
                "headers" => "{ \"X.1\" = \"a-literal-secret\" }",
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
