use std::fs;

use serde::Deserialize;

use super::*;
use crate::{ConfigSettings, keys};

fn parse(text: &str) -> Result<ConfigDocument, ConfigError> {
    let environment = |name: &str| (name == "KEY").then(|| "sk-secret".to_owned());
    ConfigDocument::parse(text.to_owned(), Some("avocet.toml".into()), &environment)
}

fn settings(text: &str) -> Result<ConfigSettings, String> {
    let document = parse(text).map_err(|error| error.to_string())?;
    document.table::<ConfigSettings>("").map_err(|error| error.to_string())
}

#[track_caller]
fn refuses(text: &str, error: &str) {
    assert_eq!(settings(text).unwrap_err(), error);
}

#[test]
fn document_without_keys_has_a_default_for_each() {
    let settings = settings("").unwrap();
    assert_eq!(settings.agents.defaults.max_tool_iterations, 20);
    assert_eq!(settings.agents.defaults.model, "offline/commands");
    assert_eq!(settings.sessions.max_running, 64);
    assert_eq!(settings.data_dir, None);
}

#[test]
fn document_values_override_the_defaults() {
    let settings = settings(
        "data_dir = \"/var/lib/avocet\"\ndurability = \"process\"\n\
         [agents.defaults]\nmodel = \"local/qwen3\"\nmax_tool_iterations = 0x10\n\
         [providers.local]\nkind = \"openai\"\napi_key = \"${KEY}\"\n",
    )
    .unwrap();
    assert_eq!(settings.data_dir, Some("/var/lib/avocet".into()));
    assert_eq!(settings.durability, crate::LogDurability::Process);
    assert_eq!(settings.agents.defaults.max_tool_iterations, 16);
    assert_eq!(settings.providers["local"]["api_key"], "sk-secret");
}

#[test]
fn f29_document_refuses_an_unknown_key_with_its_position_and_the_nearest_key() {
    refuses(
        "[agents.defaults]\n  max_tool_iteration = 3\n",
        "avocet.toml:2:3: unknown key `max_tool_iteration` in [agents.defaults]; did you mean \
         `max_tool_iterations`?",
    );
    refuses(
        "datadir = \"x\"\n",
        "avocet.toml:1:1: unknown key `datadir`; did you mean `data_dir`?",
    );
    refuses(
        "# Grüße\n[audit]\nhead_file = \"a\"\n'ü' = 1\n",
        "avocet.toml:4:1: unknown key `ü` in [audit]; the keys are head_file",
    );
}

#[test]
fn document_refuses_a_wrong_value_with_its_position() {
    refuses(
        "[agents.defaults]\nmax_tool_iterations = \"many\"\n",
        "avocet.toml:2:1: `agents.defaults.max_tool_iterations`: \"many\" is not a whole number \
         from 0 to 4,294,967,295",
    );
    refuses(
        "durability = \"sync\"\n",
        "avocet.toml:1:1: `durability`: `sync` is not a possible value; did you mean `synced`? \
            Possible values: `synced` or `process`",
    );
    refuses(
        "[sessions]\nqueue_mode = 7\n",
        "avocet.toml:2:1: `sessions.queue_mode`: 7 is not a word in quotation marks",
    );
    refuses("[agents]\ndefaults = 3\n", "avocet.toml:2:1: `agents.defaults`: 3 is not a table");
}

#[test]
fn document_refuses_invalid_toml_with_its_position() {
    let error = settings("a = 1\nb = = 2\n").unwrap_err();
    assert!(error.starts_with("avocet.toml:2:5: "), "{error}");
    let error = settings("a = 1\na = 2\n").unwrap_err();
    assert_eq!(error, "avocet.toml:2:1: this key is there twice; keep one of them");
}

#[test]
fn document_refuses_an_unset_reference_with_its_position() {
    refuses(
        "[providers.local]\napi_key = \"${NO_KEY}\"\n",
        "avocet.toml:2:11: `providers.local.api_key`: the environment variable NO_KEY is not set",
    );
}

#[test]
fn f15_document_error_does_not_show_a_referenced_value() {
    let error = settings("durability = \"${KEY}\"\n").unwrap_err();
    assert_eq!(
        error,
        "avocet.toml:1:1: `durability`: the value that is referred to has the wrong type"
    );
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Component {
    url: String,
}

#[test]
fn document_table_deserialises_the_table_of_a_component() {
    let document =
        parse("[providers.local]\nkind = \"x\"\nurl = \"u\"\n[providers.bad]\nurk = 1").unwrap();
    let component: Component = document.table_without("providers.local", &["kind"]).unwrap();
    assert_eq!(component.url, "u");
    let missing: Component = document.table("providers.other").unwrap();
    assert_eq!(missing.url, "");
    let error = document.table::<Component>("providers.bad").unwrap_err();
    assert_eq!(
        error.to_string(),
        "avocet.toml:5:1: unknown key `urk` in [providers.bad]; did you mean `url`?"
    );
}

#[test]
fn document_read_names_a_file_that_it_cannot_read() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("none.toml");
    let read =
        || ConfigDocument::read(&path, &|_| None, UsedReferences::All).unwrap_err().to_string();
    assert_eq!(read(), format!("{}: there is no such file", path.display()));
    fs::write(&path, b"a = \"\xff\"").unwrap();
    assert_eq!(read(), format!("{}: it is not UTF-8 text (at byte 5)", path.display()));
    fs::write(&path, vec![b'#'; MAX_CONFIG_BYTES + 1]).unwrap();
    let long =
        format!("{}: it has more than 524288 bytes, the limit of a configuration", path.display());
    assert_eq!(read(), long);
}

#[test]
fn keys_lists_the_keys_of_a_type() {
    let keys = keys(&schema::<ConfigSettings>());
    assert!(keys.contains(&"agents.defaults.model".to_owned()), "{keys:?}");
    assert!(keys.contains(&"providers".to_owned()), "{keys:?}");
    assert!(keys.contains(&"sessions.queue_mode".to_owned()), "{keys:?}");
}

#[test]
fn document_get_accepts_a_name_with_dots_in_the_path() {
    let document = parse("[models.\"local/qwen2.5\"]\ncontext = 1\n").unwrap();
    assert_eq!(document.get("models.local/qwen2.5.context").unwrap(), 1);
    assert_eq!(document.get("models.local/qwen2.4.context"), None);
}

#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Outer {
    inner: Option<Inner>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is read, not used")]
struct Inner {
    output: f64,
}

#[test]
fn f29_document_knows_the_keys_of_an_optional_table() {
    let document = parse("[a]\ninner = { outptu = 1 }\n").unwrap();
    let error = document.table::<Outer>("a").unwrap_err().to_string();
    assert!(
        error.ends_with("unknown key `outptu` in [a.inner]; did you mean `output`?"),
        "{error}"
    );
    let document = parse("[a]\ninner = {}\n").unwrap();
    let error = document.table::<Outer>("a").unwrap_err().to_string();
    assert!(error.contains("2:1: `a.inner`: `output` is missing"), "{error}");
    assert_eq!(keys(&schema::<Outer>()), ["inner.output"]);
}

#[test]
fn document_leaves_unset_references_unresolved_if_their_value_is_unused() {
    let text = "data_dir = \"/data/${KEY}\"\n[providers.local]\nkind = \"openai\"\n\
        api_key = \"${NO_KEY}\"\nbase_url = \"${NO_URL}\"\nheaders = { \"X\" = \"${KEY}\" }\n";
    let read = |references| {
        let environment = |name: &str| (name == "KEY").then(|| "sk-secret".to_owned());
        ConfigDocument::parse_with(text.to_owned(), None, &environment, references)
    };
    let error = read(UsedReferences::All).unwrap_err().to_string();
    assert!(error.contains("NO_KEY is not set"), "{error}");

    let possible = read(UsedReferences::Possible).unwrap();
    let missing: Vec<_> =
        possible.unresolved_values().iter().map(|one| one.error.to_string()).collect();
    assert_eq!(
        missing,
        [
            "the configuration:4:11: `providers.local.api_key`: the environment variable NO_KEY is not set",
            "the configuration:5:12: `providers.local.base_url`: the environment variable NO_URL is not set",
        ]
    );
    assert_eq!(possible.get("providers.local.headers.X").unwrap(), "sk-secret");
    assert_eq!(possible.get("providers.local.api_key").unwrap(), "unresolved");
    assert_eq!(possible.get("providers.local.base_url"), None);
    assert!(possible.is_unresolved("providers.local.api_key"));
    assert!(!possible.is_whole("providers.local") && possible.is_whole("providers.loc"));

    let places = read(UsedReferences::Places).unwrap();
    assert_eq!(places.get("data_dir").unwrap(), "/data/sk-secret");
    assert_eq!(places.get("providers.local.headers.X").unwrap(), "unresolved");
    assert_eq!(places.unresolved_values().len(), 3);
}

#[test]
fn document_resolves_references_only_in_keys_whose_values_are_used() {
    let asked = std::cell::RefCell::new(Vec::new());
    let environment = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        None
    };
    let text = "[providers.local]\napi_key = \"${KEY}\"\n[gateway]\nsocket = \"${NO_PLACE}/s\"\n";
    let read =
        ConfigDocument::parse_with(text.to_owned(), None, &environment, UsedReferences::Places);
    assert!(read.unwrap_err().to_string().contains("NO_PLACE is not set"));
    assert_eq!(*asked.borrow(), ["NO_PLACE"]);
}

#[test]
fn document_refuses_a_malformed_reference_in_any_key() {
    for references in [UsedReferences::All, UsedReferences::Possible, UsedReferences::Places] {
        for (reference, error) in [
            ("${KEY", "lacks a closing brace"),
            ("${credential:a/b}", "is not the name of a credential"),
        ] {
            let text = format!("[providers.local]\napi_key = \"{reference}\"\n");
            let read = ConfigDocument::parse_with(text, None, &|_| None, references);
            let refused = read.unwrap_err().to_string();
            assert!(refused.contains(error), "{references:?}: {refused}");
        }
    }
}

#[test]
fn document_error_does_not_show_a_secret_of_the_wrong_type() {
    #[derive(Debug, Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "it is read, not used")]
    struct Bot {
        token: Secret,
    }
    let error = parse("[bot]\ntoken = 123456789\n").unwrap().table::<Bot>("bot").unwrap_err();
    assert_eq!(
        error.to_string(),
        "avocet.toml:2:1: `bot.token`: a secret is text in quotation marks"
    );
}

#[test]
fn document_explains_toml_errors_in_plain_words() {
    const NO_VALUE: &str = "this is not a value; text has to be in quotation marks";
    let open = "the text has no closing quotation mark, or a character that cannot stand in it";
    let table = [
        ("a = \"x\n", "1:7", open),
        ("a = x\n", "1:5", NO_VALUE),
        ("a\n", "1:2", "the key has no value; write `key = value`"),
        ("a =\n", "1:4", NO_VALUE),
        ("a = [1\n", "1:7", "the list has no closing `]`"),
        ("a = [1 2]\n", "1:6", NO_VALUE),
        ("[a\nb = 1\n", "1:3", "the name of the table has no closing `]`"),
        ("a = { b = 1\n", "1:12", "the table has no closing `}`"),
        ("a = 1 b = 2\n", "1:9", "this line has more than one key and its value"),
        ("a = 01\n", "1:5", "a number must not begin with 0"),
        ("a.b = 1\na = 2\n", "2:1", "this key is there twice; keep one of them"),
        ("= 1\n", "1:1", "there is no key before the `=`"),
        (
            "a = \"\\q\"\n",
            "1:7",
            "this character has no meaning after a backslash; write \\\\ for a backslash",
        ),
        ("ü = 1\n", "1:1", "a key with such characters has to be in quotation marks"),
        ("a = 99999999999999999999\n", "1:5", "`a`: the number is too large"),
    ];
    for (text, place, expected) in table {
        let error = parse(text).unwrap_err().to_string();
        assert_eq!(error, format!("avocet.toml:{place}: {expected}"), "{text:?}");
    }
}

#[test]
fn secrets_include_each_key_of_a_list() {
    let text = "[providers.a]\napi_key = [\"a-literal-key\", \"${KEY}\"]\n";
    let document = parse(text).unwrap();
    let secrets: Vec<&str> = document.secrets().iter().map(Secret::expose).collect();
    assert_eq!(secrets, ["a-literal-key", "sk-secret"]);
}
