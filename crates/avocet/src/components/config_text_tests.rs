//! Tests of changes in the text of a configuration.

use serde_json::json;

use super::*;

const TEXT: &str = "# first\n[agents.defaults] # table\nmodel = \"a/b\" # the model\n\
    fallbacks = [\"a/c\"]\n\n[providers.a]\napi_key = \"sk-literal\"\n\
    [providers.b]\napi_key = \"${B}\"\n[models.\"a/b\"]\ncontext = 5\n";

#[test]
fn get_shows_values_as_they_stand_and_hides_secrets() {
    let table = [
        ("agents.defaults.model", Some("a/b")),
        ("agents.defaults.fallbacks", Some("[\"a/c\"]")),
        ("models.\"a/b\".context", Some("5")),
        ("providers.a.api_key", Some("(hidden)")),
        ("providers.b.api_key", Some("${B}")),
        ("providers.a", Some("api_key = \"(hidden)\"\n")),
        ("agents.defaults.modle", None),
        ("agents.defaults.model.x", None),
    ];
    for (key, expected) in table {
        assert_eq!(get(TEXT, key).unwrap().as_deref(), expected, "{key}");
    }
    let text = "[[providers.x]]\napi_key = \"a\"\n[h.headers]\nauth = \"Bearer b ${C}\"\n\
        [u]\nat = \"http://me:word@host/a@b\"\nplain = \"http://host/a@b\"\n";
    let table = [
        ("providers.x", "[{ api_key = \"(hidden)\" }]"),
        ("h.headers.auth", "(hidden)"),
        ("u.at", "http://(hidden)@host/a@b"),
        ("u.plain", "http://host/a@b"),
    ];
    for (key, expected) in table {
        assert_eq!(get(text, key).unwrap().unwrap().trim_start(), expected, "{key}");
    }
    assert!(get(TEXT, "a..b").is_err() && get("a = ", "a").is_err());
}

#[test]
fn set_changes_one_key_and_keeps_all_else() {
    let table = [
        ("agents.defaults.model", "x/y", "model = \"a/b\" #", "model = \"x/y\" #"),
        ("agents.defaults.fallbacks", "[]", "[\"a/c\"]", "[]"),
        ("models.\"a/b\".context", "7", "context = 5", "context = 7"),
        ("agents.defaults.max_children", "2", "[\"a/c\"]\n", "[\"a/c\"]\nmax_children = 2\n"),
    ];
    for (key, new, from, to) in table {
        assert_eq!(set_value(TEXT, key, new).unwrap(), TEXT.replacen(from, to, 1), "{key}");
    }
    assert_eq!(set_value("", "log.level", "debug").unwrap(), "[log]\nlevel = \"debug\"\n");
    assert_eq!(set_value("", "a.token", "123").unwrap(), "[a]\ntoken = \"123\"\n");
    assert_eq!(set_value("", "data_dir", "/x").unwrap(), "data_dir = \"/x\"\n");
    let added = set_value(TEXT, "budgets.day_usd", "5").unwrap();
    assert_eq!(added, format!("{TEXT}\n[budgets]\nday_usd = 5\n"));
    assert!(set_value(TEXT, "agents.defaults", "5").is_err());
    assert!(set_value(TEXT, "agents.defaults.model.x", "5").is_err());
}

#[test]
fn apply_edit_changes_single_lines_and_keeps_comments() {
    let text = "# top\n[agents.defaults] # table\n# why this model\nmodel = \"a/b\" # the model\n\
        # what else\nfallbacks = [\n  \"a/c\", # first\n]\n\n# a key\n[providers.\"a.b\"]\n\
        api_key = \"${B}\"\n[tools]\npolicy = { shell = \"ask\", other = \"deny\" }\n";
    let edited = |key: &str, value: Json| {
        apply_edit(text, &ConfigEdit { key: key.to_owned(), value, rename: None }).unwrap()
    };
    let table = [
        ("agents.defaults.model", Json::Null, "model = \"a/b\" # the model\n", ""),
        ("agents.defaults.model", json!("x/y"), "\"a/b\"", "\"x/y\""),
        ("agents.defaults.fallbacks", Json::Null, "fallbacks = [\n  \"a/c\", # first\n]\n", ""),
        ("agents.defaults.none", Json::Null, "", ""),
        ("providers.\"a.b\".api_key", json!("${C}"), "${B}", "${C}"),
        ("tools.policy.shell", Json::Null, " shell = \"ask\",", ""),
        ("tools.users", json!(["a", 5, 1.5, true]), "[tools]\n", ""),
    ];
    for (key, value, from, to) in table {
        let is_new = key == "tools.users";
        let (from, to) = if is_new {
            ("\"deny\" }\n", "\"deny\" }\nusers = [\"a\", 5, 1.5, true]\n")
        } else {
            (from, to)
        };
        let expected = text.replacen(from, to, 1);
        assert_eq!(edited(key, value), expected, "{key}");
    }
    assert_eq!(edited("channels.telegram", json!({})), format!("{text}\n[channels.telegram]\n"));
    assert_eq!(edited("tools", json!({})), text, "the table exists");
    let removed = edited("providers.\"a.b\"", Json::Null);
    assert!(!removed.contains("providers") && removed.contains("# what else"), "{removed}");
    let bad = ConfigEdit { key: "a".to_owned(), value: json!({ "b": 1 }), rename: None };
    assert!(apply_edit(text, &bad).is_err());
}

#[test]
fn apply_edit_renames_a_table_with_its_comments() {
    let text = "# first\n[s.a] # one\n# why\nurl = \"x\" # here\n\n# second\n[s.b]\nurl = \"y\"\n\n\
        # the login of a\n[s.a.oauth]\nclient = \"c\"\n[t]\nlist = { a = 1, b = 2 }\nd.e.f = 1\n";
    let renamed = |key: &str, name: &str| {
        let (key, rename) = (key.to_owned(), Some(name.to_owned()));
        apply_edit(text, &ConfigEdit { key, value: Json::Null, rename })
    };
    let table = [
        ("s.a", "new one", text.replace("[s.a", "[s.\"new one\"")),
        ("s.b", "c", text.replace("[s.b]", "[s.c]")),
        ("s.b", "b", text.to_owned()),
        ("s.a.oauth", "login", text.replace("a.oauth", "a.login")),
        ("t.d.e", "g", text.replace("d.e.f", "d.g.f")),
    ];
    for (key, name, expected) in table {
        assert_eq!(renamed(key, name).unwrap(), expected, "{key} {name}");
    }
    for (key, name, error) in
        [("s.a", "b", "already"), ("s.c", "d", "no table"), ("s.a", "", "empty")]
    {
        assert!(renamed(key, name).unwrap_err().contains(error), "{key} {name}");
    }
}

#[test]
fn has_secret_tells_plain_secrets_from_references() {
    let table = [
        ("providers.a.api_key", json!("sk-1"), true),
        ("providers.a.api_key", json!("${KEY}"), false),
        ("providers.a.api_key", json!(["${KEY}", "sk-2"]), true),
        ("providers.a.base_url", json!("http://me:word@host/v1"), true),
        ("providers.a.base_url", json!("http://host/v1"), false),
        ("tools.mcp_servers.a", json!({ "env": { "API_KEY": "x" } }), true),
    ];
    for (path, value, expected) in table {
        assert_eq!(has_secret(path, &value), expected, "{path} {value}");
    }
}
