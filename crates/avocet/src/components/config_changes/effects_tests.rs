use std::sync::Arc;

use avocet_config::{ConfigSettings, schema};
use avocet_protocol::clock::Clock;
use avocet_testkit::ManualClock;

use super::*;
use crate::registry;

fn sorted(old: &str, new: &str) -> SortedChanges {
    let clock: Arc<dyn Clock> = Arc::<ManualClock>::default();
    let [old, new] = [old, new].map(|text| {
        let document = ConfigDocument::parse(text.to_owned(), None, &|_| None).unwrap();
        let channels = registry::make_channels(&document, &document.table("").unwrap(), &clock);
        (document, channels.unwrap().channels)
    });
    sort_changes(&old.0, &new.0, &old.1, &new.1)
}

/// Returns the live keys, the waiting keys, and the accounts that stop or start.
fn shown(sorted: &SortedChanges) -> [String; 3] {
    let keys = |keys: &[KeyPath]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let accounts = sorted.accounts.iter().map(|(channel, account)| format!("{channel}:{account}"));
    [keys(&sorted.live), keys(&sorted.waiting), accounts.collect()].map(|all| all.join(" "))
}

#[test]
fn effects_cover_every_table_of_the_configuration() {
    let whole = schema::<ConfigSettings>();
    let tables = whole["properties"].as_object().unwrap().keys();
    let covered =
        |name: &String| EFFECTS.iter().any(|(key, _)| key.split('.').next() == Some(name));
    let missing: Vec<_> = tables.filter(|name| !covered(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn sort_changes_separates_live_keys_from_those_that_need_a_restart() {
    let table = [
        ("", "", ["", "", ""]),
        ("", "data_dir = \"x\"\n[budgets]\nday_usd = 1", ["budgets.day_usd", "data_dir", ""]),
        (
            "[agents.defaults]\nmodel = \"a/b\"\nworkspace = \"x\"",
            "[agents.defaults]\nmodel = \"a/c\"\nworkspace = \"y\"",
            ["agents.defaults.model", "agents.defaults.workspace", ""],
        ),
        ("", "[agents.work]\nmodel = \"a/b\"", ["agents.work.model", "", ""]),
        (
            "",
            "[agents.work]\nmodel = \"a/b\"\nworkspace = \"x\"",
            ["", "agents.work.model agents.work.workspace", ""],
        ),
        (
            "[agents.work]\nworkspace = \"x\"",
            "[agents.work]\nmodel = \"a/b\"\nworkspace = \"y\"",
            ["agents.work.model", "agents.work.workspace", ""],
        ),
        // Its people would have the default agent until the restart.
        (
            "[agents.a]\nmodel = \"a/b\"\nworkspace = \"x\"",
            "[agents.b]\nmodel = \"a/b\"\nworkspace = \"x\"",
            ["", "agents.a.model agents.a.workspace agents.b.model agents.b.workspace", ""],
        ),
        (
            "",
            "[log]\nlevel = \"debug\"\n[tools]\napproval_minutes = 5\n[sandbox]\nhosts = [\"a.example\"]",
            ["log.level", "sandbox.hosts tools.approval_minutes", ""],
        ),
        (
            "",
            "[agents.defaults]\nmodel = \"a/b\"\n[agents.defaults.tools]\nallow = [\"*\"]\n\
             [sandbox]\nhosts = [\"a.example\"]",
            ["", "agents.defaults.model agents.defaults.tools.allow sandbox.hosts", ""],
        ),
        ("[log]\nlevel = \"info\"", "[log]\nformat = \"json\"", ["log.level", "log.format", ""]),
    ];
    for (old, new, expected) in table {
        assert_eq!(shown(&sorted(old, new)), expected, "{old:?} {new:?}");
    }
}

#[test]
fn sort_changes_names_the_accounts_that_stop_or_start() {
    let one = "[channels.telegram]\ntoken = \"1:a\"\n";
    let two = "[channels.telegram.a]\ntoken = \"1:a\"\n[channels.telegram.b]\ntoken = \"2:b\"\n";
    let hook = "[http]\nlisten = \"127.0.0.1:1\"\n[channels.telegram]\ntoken = \"1:a\"\nwebhook = \"https://a.example\"\n";
    let changed = |text: &str, key: &str| format!("{text}{key}\n");
    let table = [
        ("", one.to_owned(), ["channels.telegram.token", "", "telegram:main"]),
        (one, String::new(), ["channels.telegram.token", "", "telegram:main"]),
        (one, changed(one, "numbered = true"), ["channels.telegram.numbered", "", "telegram:main"]),
        (one, changed(one, "owners = [7]"), ["channels.telegram.owners", "", ""]),
        (
            one,
            changed(one, "[channels.telegram.groups.-5]\nallow = [7]"),
            ["channels.telegram.groups.-5.allow", "", ""],
        ),
        (two, changed(two, "numbered = true"), ["channels.telegram.b.numbered", "", "telegram:b"]),
        (hook, changed(hook, "allow = [7]"), ["channels.telegram.allow", "", ""]),
        (hook, changed(hook, "numbered = true"), ["", "channels.telegram.numbered", ""]),
        (
            "",
            "[channels.external]\nowners = [\"a\"]".to_owned(),
            ["", "channels.external.owners", ""],
        ),
    ];
    for (old, new, expected) in table {
        assert_eq!(shown(&sorted(old, &new)), expected, "{old:?} {new:?}");
    }
}

#[test]
fn reload_page_has_the_effect_of_every_key() {
    let page = include_str!("../../../../../docs/src/operate/reload.md");
    let rows = EFFECTS.iter().map(|(key, effect)| {
        let effect = match effect {
            Live => "at once",
            Account => "at once, or after a restart (see below)",
            Restart => "after a restart",
        };
        format!("| `{key}` | {effect} |\n")
    });
    let table = rows.collect::<String>();
    assert!(page.contains(&table), "docs/src/operate/reload.md needs this table:\n{table}");
}
