//! Tests of the form of a configuration.

use serde_json::json;

use super::*;
use crate::components::config_text::values_of_text;

const TEXT: &str = "[agents.defaults]\nmodel = \"a/b\"\nprompt = \"Be brief.\"\n\
    [agents.work]\ntools = [\"*\"]\n[models.\"a/b\"]\ncontext = 5000\n\
    [providers.a]\nkind = \"openai\"\napi_key = \"sk-literal\"\nbase_url = \"http://me:word@host/v1\"\n\
    [providers.b]\nkind = \"openai\"\napi_key = \"${KEY}\"\n[providers.c]\nkind = \"unknown\"\n\
    [channels.telegram.work]\ntoken = \"${BOT}\"\nowners = [7]\n[channels.discord]\n\
    [tools.policy]\n\"files__*\" = \"ask\"\n[budgets]\nday_usd = \"none\"\n";

fn tables(text: &str) -> Vec<FormTable> {
    tables_of(&values_of_text(text).unwrap())
}

fn field(key: &str) -> FormField {
    let fields = tables(TEXT).into_iter().flat_map(|table| table.fields);
    fields.into_iter().find(|field| field.key == key).unwrap_or_else(|| panic!("no field {key}"))
}

#[test]
fn form_shows_the_common_tables_of_a_text() {
    let keys: Vec<(String, Option<String>, bool)> =
        tables(TEXT).into_iter().map(|table| (table.key, table.kind, table.can_remove)).collect();
    let expected = [
        ("agents.defaults", None, true),
        ("agents.work", None, true),
        ("models.\"a/b\"", None, true),
        ("providers.a", Some("openai"), true),
        ("providers.b", Some("openai"), true),
        ("channels.discord", Some("discord"), true),
        ("channels.telegram.work", Some("telegram"), true),
        ("tools", None, true),
        ("budgets", None, true),
        ("sessions", None, false),
        ("retention", None, false),
    ];
    let expected =
        expected.map(|(key, kind, is_set)| (key.to_owned(), kind.map(str::to_owned), is_set));
    assert_eq!(keys, expected);
    let offered = additions_to(&values_of_text(TEXT).unwrap());
    let names = &offered.iter().find(|one| one.parent == "channels").unwrap().names;
    assert!(names.contains(&"terminal".to_owned()) && !names.contains(&"discord".to_owned()));
    assert!(offered.iter().any(|one| one.kinds.contains(&"openai".to_owned())));
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
    let tables = tables(TEXT);
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
        let edit = ConfigEdit { key: key.to_owned(), value };
        assert_eq!(typed_edit(edit, &tables).value, expected, "{key}");
    }
}
