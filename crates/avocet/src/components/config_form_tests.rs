//! Tests of the form of a configuration.

use serde_json::json;

use super::*;
use crate::components::config_text::values_of_text;
use crate::registry::PROVIDERS;

const TEXT: &str = "[agents.defaults]\nmodel = \"a/b\"\nprompt = \"Be brief.\"\n\
    [agents.work]\ntools = [\"*\"]\n[models.\"a/b\"]\ncontext = 5000\n\
    [providers.a]\nkind = \"openai\"\napi_key = \"sk-literal\"\nbase_url = \"http://me:word@host/v1\"\n\
    headers = { X-Key = \"sk-literal\", A = \"${B}\" }\n\
    [providers.b]\nkind = \"openai\"\napi_key = \"${KEY}\"\n[providers.c]\nkind = \"unknown\"\n\
    [channels.telegram.work]\ntoken = \"${BOT}\"\nowners = [7]\n[channels.discord]\n\
    [tools.policy]\n\"files__*\" = \"ask\"\n[budgets]\nday_usd = \"none\"\n";

fn tables(text: &str) -> Vec<FormTable> {
    describe_config(&values_of_text(text).unwrap()).tables
}

fn field(key: &str) -> FormField {
    let fields = tables(TEXT).into_iter().flat_map(|table| table.fields);
    fields.into_iter().find(|field| field.key == key).unwrap_or_else(|| panic!("no field {key}"))
}

/// The tables with these beginnings of their keys: key, kind, and the letters of what can be done.
fn described(text: &str, beginnings: &[&str]) -> Vec<(String, Option<String>, String)> {
    let tables = tables(text).into_iter();
    let tables = tables.filter(|table| beginnings.iter().any(|one| table.key.starts_with(one)));
    let can = |table: &FormTable| {
        let all = [(table.can_add, 'a'), (table.can_remove, 'x'), (table.can_rename, 'r')];
        all.into_iter().filter(|(can, _)| *can).map(|(_, letter)| letter).collect()
    };
    tables.map(|table| (table.key.clone(), table.kind.clone(), can(&table))).collect()
}

#[test]
fn form_has_a_table_for_each_entry_of_the_text() {
    let found = described(TEXT, &["agents", "models", "providers", "channels"]);
    let expected = [
        ("agents.defaults", None, ""),
        ("agents.work", None, "xr"),
        ("models.\"a/b\"", None, "xr"),
        ("models.\"a/b\".price", None, "a"),
        ("providers.a", Some("openai"), "xr"),
        ("providers.b", Some("openai"), "xr"),
        ("channels.discord", Some("discord"), "x"),
        ("channels.telegram.work", Some("telegram"), "xr"),
    ];
    let expected = expected
        .map(|(key, kind, can)| (key.to_owned(), kind.map(str::to_owned), can.to_owned()))
        .to_vec();
    assert_eq!(found, expected);
}

#[test]
fn form_adds_tables_with_free_names_and_tables_that_may_be_missing() {
    let text = "[tools.mcp_servers.files]\ncommand = \"x\"\n[tools.mcp_servers.files.oauth]\n\
        [http]\nlisten = \"127.0.0.1:1\"\n[http.tokens.phone]\n[tools.policy]\nshell = \"ask\"\n\
        git_push = { default = \"allow\", users = \"deny\" }\n[channels.discord.groups.\"12\"]\n\
        [tools.roles]\nuser = [\"read_*\"]\n";
    let found = described(text, &["http", "tools.", "telemetry", "channels"]);
    let expected = [
        ("http", "x"),
        ("http.tokens.phone", "xr"),
        ("telemetry", "a"),
        ("tools.policy.git_push", "xr"),
        ("tools.roles.user", "xr"),
        ("tools.web_search", "a"),
        ("tools.mcp_servers.files", "xr"),
        ("tools.mcp_servers.files.oauth", "x"),
        ("tools.mcp_servers.files.sampling", "a"),
        ("channels.discord", "x"),
        ("channels.discord.groups.12", "xr"),
    ];
    let found: Vec<_> = found.iter().map(|(key, _, can)| (key.as_str(), can.as_str())).collect();
    assert_eq!(found, expected);
    let form = describe_config(&values_of_text(text).unwrap());
    let of = |parent: &str| {
        let addition = form.additions.iter().find(|one| one.parent == parent);
        addition.unwrap_or_else(|| panic!("nothing can be added to {parent}"))
    };
    for parent in ["agents", "models", "http.tokens", "hooks", "schedules", "gateway.clients"] {
        assert!(of(parent).names.is_empty() && of(parent).kinds.is_empty(), "{parent}");
    }
    for parent in ["tools.mcp_servers", "tools.channels", "channels.discord.groups"] {
        assert!(!of(parent).about.is_empty(), "{parent}");
    }
    assert!(of("providers").kinds.contains(&"openai".to_owned()));
    assert!(of("channels").names.contains(&"terminal".to_owned()));
    assert!(!of("channels").names.contains(&"discord".to_owned()));
    assert_eq!(describe_config(&values_of_text(TEXT).unwrap()).groups.len(), form.groups.len());
}

/// The reference of the book has the same keys.
#[test]
fn form_has_every_key_of_the_daemon_and_leaves_free_json_and_lists_by_name_to_the_text() {
    let tables = [
        "agents.a",
        "channels.directory",
        "channels.discord.groups.a",
        "channels.discord.servers.a",
        "channels.external.groups.a",
        "channels.telegram.groups.a",
        "channels.terminal",
        "embeddings",
        "gateway.clients.a",
        "hooks.a",
        "http.tokens.a",
        "models.a",
        "schedules.a",
        "speech",
        "telemetry",
        "tools.channels.a",
        "tools.mcp_servers.a.oauth",
        "tools.mcp_servers.a.sampling",
        "tools.policy.a",
        "tools.roles.user",
        "tools.web_search",
        "transcription",
    ];
    let kinds = PROVIDERS.iter().map(|kind| kind.name);
    let kinds = kinds.map(|kind| format!("[providers.{kind}]\nkind = \"{kind}\"\n"));
    let text: String =
        tables.map(|table| format!("[{table}]\n")).into_iter().chain(kinds).collect();
    let form = describe_config(&values_of_text(&text).unwrap());
    let fields: Vec<_> = form.tables.iter().flat_map(|table| &table.fields).collect();
    let paths: Vec<_> = fields.iter().map(|field| field.path.as_str()).collect();
    for key in avocet_config::keys(&avocet_config::schema::<avocet_config::ConfigSettings>()) {
        let is_shown = |path: &&str| **path == key || path.starts_with(&format!("{key}."));
        let is_added = form.additions.iter().any(|one| one.parent == key);
        assert!(paths.iter().any(is_shown) || is_added, "the form lacks {key}");
    }
    let others = fields.iter().filter(|field| field.input == FormInput::Other);
    let others: Vec<_> = others.map(|field| field.name.as_str()).collect();
    // The lists of rules have names of the operator's choice.
    assert_eq!(others, ["agents", "chats", "people", "extra_body"]);
    for table in &form.tables {
        assert!(form.groups.iter().any(|group| group.name == table.group), "{}", table.key);
    }
}

#[test]
fn form_chooses_inputs_by_type_and_hides_secrets() {
    let table = [
        ("agents.defaults.model", FormInput::Text, json!("a/b"), false),
        ("agents.defaults.prompt", FormInput::Lines, json!("Be brief."), false),
        ("agents.defaults.effort", FormInput::Choice, json!(null), false),
        ("agents.defaults.fallbacks", FormInput::List, json!(null), false),
        ("agents.defaults.max_depth", FormInput::Integer, json!(null), false),
        ("agents.defaults.job_branch", FormInput::Switch, json!(null), false),
        ("agents.defaults.tools.allow", FormInput::List, json!(null), false),
        ("models.\"a/b\".context", FormInput::Integer, json!(5000), false),
        ("providers.a.api_key", FormInput::Secret, json!(null), true),
        ("providers.a.base_url", FormInput::Text, json!(null), true),
        ("providers.b.api_key", FormInput::Secret, json!("${KEY}"), false),
        ("channels.telegram.work.token", FormInput::Secret, json!("${BOT}"), false),
        ("channels.telegram.work.owners", FormInput::List, json!(["7"]), false),
        ("tools.policy", FormInput::Rules, json!({ "files__*": "ask" }), false),
        ("budgets.day_usd", FormInput::Number, json!("none"), false),
        ("data_dir", FormInput::Text, json!(null), false),
        ("agents.work.tools", FormInput::List, json!(["*"]), false),
        ("providers.a.headers", FormInput::Pairs, json!({ "X-Key": null, "A": "${B}" }), false),
    ];
    for (key, input, value, is_hidden) in table {
        let field = field(key);
        assert_eq!(
            (field.input, &field.value, field.is_hidden),
            (input, &value, is_hidden),
            "{key}"
        );
        assert!(!field.help.is_empty(), "{key} has no description");
    }
    let rules = field("tools.policy").choices;
    assert_eq!(
        rules.iter().map(|one| one.value.as_str()).collect::<Vec<_>>(),
        ["allow", "ask", "deny"]
    );
    assert!(field("channels.telegram.work.owners").has_numbers);
    assert!(!field("agents.defaults.fallbacks").has_numbers);
    assert_eq!(field("models.\"a/b\".context").path, "models.a/b.context");
    let shown = serde_json::to_string(&tables(TEXT)).unwrap();
    assert!(!shown.contains("sk-literal") && !shown.contains("word@host"));
}

#[test]
fn typed_edit_reads_numbers_from_texts() {
    let form = describe_config(&values_of_text(TEXT).unwrap());
    let table = [
        (
            "channels.telegram.work.owners",
            json!(["1234567890123456789", "@me"]),
            json!([1234567890123456789_i64, "@me"]),
        ),
        ("agents.defaults.fallbacks", json!(["5"]), json!(["5"])),
        ("agents.defaults.max_depth", json!("1_000"), json!(1000)),
        ("agents.defaults.max_depth", json!("many"), json!("many")),
        ("budgets.day_usd", json!("2.5"), json!(2.5)),
        ("budgets.day_usd", json!("5"), json!(5)),
        ("budgets.day_usd", json!("none"), json!("none")),
        ("agents.defaults.model", json!("5"), json!("5")),
        ("nothing.of_this", json!("5"), json!("5")),
    ];
    for (key, value, expected) in table {
        let edit = ConfigEdit { key: key.to_owned(), value, rename: None };
        assert_eq!(form.typed_edit(edit).value, expected, "{key}");
    }
}
