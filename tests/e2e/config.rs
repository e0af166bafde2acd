//! Tests of the effective configuration, and of `config check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use avocet_tests::{Home, program};

use crate::support::{assert_fails, end, printed, printed_json, run, start, stop};
use crate::terminal::pty::TerminalOptions;

/// Writes a configuration that can be recognised by the name of its model.
fn write(home: &Home, below: &str, name: &str) {
    let path = home.path(below);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("[agents.defaults]\nmodel = \"offline/{name}\"\n")).unwrap();
}

#[test]
fn config_path_prefers_option_then_variable_then_default_path() {
    let with_variable = |home: Home| {
        let path = home.path("variable.toml").display().to_string();
        home.with("AVOCET_CONFIG", &path)
    };
    let with_xdg = |home: Home| {
        let path = home.path("xdg").display().to_string();
        home.with("XDG_CONFIG_HOME", &path)
    };
    let option = ["--config", "option.toml"];
    let table: [(&str, &[&str], Home); 6] = [
        ("option", &option, with_xdg(with_variable(Home::new(program!())))),
        ("variable", &[], with_xdg(with_variable(Home::new(program!())))),
        ("xdg", &[], with_xdg(Home::new(program!()))),
        ("home", &[], Home::new(program!())),
        ("home", &[], Home::new(program!()).with("AVOCET_CONFIG", "").with("XDG_CONFIG_HOME", "")),
        ("option", &option, Home::new(program!())),
    ];
    for (expected, arguments, home) in table {
        write(&home, "option.toml", "option");
        write(&home, "variable.toml", "variable");
        write(&home, "xdg/avocet/config.toml", "xdg");
        write(&home, ".config/avocet/config.toml", "home");
        let found = printed_json(&home, &[arguments, &["config", "check"]].concat());
        assert_eq!(found["model"], format!("offline/{expected}"), "{found}");
        assert!(Path::new(found["config"].as_str().unwrap()).ends_with(match expected {
            "option" => "option.toml",
            "variable" => "variable.toml",
            "xdg" => "xdg/avocet/config.toml",
            _ => ".config/avocet/config.toml",
        }));
    }
}

#[test]
fn config_check_shows_defaults_without_a_configuration() {
    let home = Home::new(program!());
    let found = printed_json(&home, &["config", "check"]);
    assert_eq!(found["config"], serde_json::Value::Null);
    assert_eq!(found["model"], "offline/commands");
    let paths = ["data_dir", "workspace", "socket"].map(|key| found[key].as_str().unwrap());
    let paths = paths.map(|path| home.without_home(path));
    assert_eq!(paths[0], "HOME/.local/state/avocet");
    assert_eq!(paths[1], "HOME/.local/state/avocet/workspace");
    assert_eq!(paths[2], "HOME/.local/state/avocet/run/avocet.sock");
    assert!(!home.data_dir().exists(), "a check creates no files");
}

#[test]
fn config_check_prints_the_effective_settings() {
    let empty = "";
    let good = "data_dir = \"data\"\n[agents.defaults]\nworkspace = \"~/files\"\n";
    let agent =
        "[agents.work]\nworkspace = \"~/work\"\nsessions = [\"telegram:work:*\", \"discord:*\"]\n";
    let checked = |home: &Home| home.without_home(&printed(home, &["config", "check"]));
    insta::assert_snapshot!("config_none", checked(&Home::new(program!())));
    insta::assert_snapshot!("config_empty", checked(&Home::new(program!()).with_config(empty)));
    insta::assert_snapshot!("config_good", checked(&Home::new(program!()).with_config(good)));
    insta::assert_snapshot!("config_agent", checked(&Home::new(program!()).with_config(agent)));
}

#[test]
fn config_check_refuses_the_same_configuration_as_run() {
    let home = Home::new(program!()).with_config("[agents.defaults]\nworkspace = \"file\"\n");
    fs::write(home.path(".config/avocet/file"), "").unwrap();
    let checked = run(&home, &["config", "check"]);
    assert_fails(&checked, 78, &["the workspace", "avocet/file", "check the path"]);
    assert_eq!(run(&home, &["run"]), checked);
}

#[test]
fn data_dir_defaults_to_the_state_directory_of_service_or_user() {
    let table = [
        ("STATE_DIRECTORY", "service", "HOME/service"),
        ("XDG_STATE_HOME", "state", "HOME/state/avocet"),
    ];
    for (variable, below, expected) in table {
        let home = Home::new(program!());
        let path = home.path(below).display().to_string();
        let home = home.with(variable, &path);
        let found = printed_json(&home, &["config", "check"]);
        assert_eq!(home.without_home(found["data_dir"].as_str().unwrap()), expected);
    }
}

/// A provider without a server, with models with known facts and one without any.
const MODELS: &str = r#"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:1/v1"
[providers.claude]
kind = "anthropic"
[providers.open]
kind = "openai"
tools = "xml"
[agents.defaults]
model = "open/gpt-4o-mini"
fallbacks = ["local/gemma3:4b", "claude/claude-sonnet-4-5"]
cheap_model = "local/mine"
[agents.work]
model = "offline/commands"
[models."local/*"]
price = { input = 0, output = 0.25, cached = 0.1 }
[models."local/mine"]
context = 16_384
tools = "none"
"#;

#[test]
fn models_lists_models_with_their_properties_and_sources() {
    let home = Home::new(program!()).with_config(MODELS);
    insta::assert_snapshot!("models", printed(&home, &["models"]));
    insta::assert_snapshot!("models_json", printed(&home, &["models", "--json"]));
    insta::assert_snapshot!("models_none", printed(&Home::new(program!()), &["models"]));
    assert!(!home.data_dir().exists(), "the list of models creates no files");
}

const COMMENTED: &str = "# mine\n[agents.defaults]\nmodel = \"offline/commands\" # the model\n\n\
    [providers.claude]\nkind = \"anthropic\"\napi_key = \"sk-ant-literal-0123456789\"\n";

#[test]
fn config_get_shows_a_key_as_it_stands_and_hides_secrets() {
    let home = Home::new(program!()).with_config(COMMENTED);
    assert_eq!(printed(&home, &["config", "get", "agents.defaults.model"]), "offline/commands\n");
    let table = printed(&home, &["config", "get", "providers.claude"]);
    assert_eq!(table, "kind = \"anthropic\"\napi_key = \"(hidden)\"\n");
    let missing = run(&home, &["config", "get", "agents.defaults.effort"]);
    assert_fails(&missing, 1, &["`agents.defaults.effort` is not in", "its default applies"]);
    let default = run(&home, &["config", "get", "log.level"]);
    let expected = (Some(0), "info\n", "not set; this is the default\n");
    assert_eq!((default.code, &*default.out, &*default.err), expected);
    let table = run(&home, &["config", "get", "log"]);
    assert_eq!(table.out, "level = \"info\"\nformat = \"text\"\n");
    let table: [(&str, &[&str]); 4] = [
        ("nonsense", &["unknown key `nonsense`; the keys are data_dir"]),
        ("log.levle", &["unknown key `levle` in [log]; did you mean `level`?"]),
        ("chanels.telegram.token", &["unknown key `chanels`; did you mean `channels`?"]),
        ("channels.telegram.tokn", &["unknown key `tokn` in [channels.telegram]", "`token`?"]),
    ];
    for (key, names) in table {
        assert_fails(&run(&home, &["config", "get", key]), 1, names);
    }
}

#[test]
fn config_set_keeps_comments_and_tells_when_the_change_is_in_use() {
    let home = Home::new(program!()).with_config(COMMENTED);
    let file = home.path(".config/avocet/config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let set = |key: &str, value: &str| printed(&home, &["config", "set", key, value]);
    let changed = set("agents.defaults.model", "offline/other");
    let expected = "agents.defaults.model is now \"offline/other\" (before: \"offline/commands\") in \
        HOME/.config/avocet/config.toml.\n";
    assert_eq!(home.without_home(&changed), expected);
    let expected = COMMENTED.replace("offline/commands", "offline/other");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);

    let mut daemon = home.daemon();
    let live = "agents.defaults.model is now \"offline/commands\" (before: \"offline/other\"); the \
        running daemon uses it within a few seconds.\n";
    assert_eq!(set("agents.defaults.model", "offline/commands"), live);
    daemon.wait_for("changed keys of the configuration are in use");
    let waiting = "sessions.max_running is now 3 (it was not set); the running daemon uses it after a \
        restart.\n";
    assert_eq!(set("sessions.max_running", "3"), waiting);
    assert_eq!(set("sessions.max_running", "3"), "The value is the same as before.\n");
    let fallbacks = run(&home, &["config", "set", "agents.defaults.fallbacks", "9"]);
    assert_fails(&fallbacks, 78, &["`agents.defaults.fallbacks`: 9 is not a list; write [9]"]);
    let table = run(&home, &["config", "set", "log", "debug"]);
    assert_fails(&table, 78, &["`log`: \"debug\" is not a table"]);
    let refused = run(&home, &["config", "set", "sessions.max_runing", "3"]);
    assert_fails(&refused, 78, &["unknown key `max_runing`", "did you mean `max_running`?"]);
    assert!(fs::read_to_string(&file).unwrap().contains("# mine\n"));
}

#[test]
fn config_set_reads_a_secret_from_standard_input() {
    let home = Home::new(program!()).with_config(COMMENTED);
    let file = home.path(".config/avocet/config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let set = home.command(&["config", "set", "providers.claude.api_key", "-"]);
    let done = end(start(set, b"sk-other-4711\n"));
    assert_eq!(done.code, Some(0), "{done:?}");
    let file = fs::read_to_string(file).unwrap();
    assert!(file.contains("api_key = \"sk-other-4711\"\n"), "{file}");
    let expected = "providers.claude.api_key is now (hidden) (before: (hidden)) in ";
    assert!(done.out.starts_with(expected), "{done:?}");
}

#[test]
fn config_set_that_is_interrupted_at_its_question_restores_the_echo() {
    let home = Home::new(program!()).with_config(COMMENTED);
    let arguments = ["config", "set", "providers.claude.api_key", "-"];
    let mut terminal = TerminalOptions::new(&home).with_command(&arguments).open();
    terminal.wait_for("it stays invisible");
    assert!(!terminal.echoes());
    terminal.press("\x03");
    terminal.wait_for("interrupted; the configuration is unchanged");
    assert!(terminal.echoes());
    assert_eq!(terminal.leave(""), Some(1));
    let file = home.path(".config/avocet/config.toml");
    assert_eq!(fs::read_to_string(file).unwrap(), COMMENTED);
}

#[test]
fn config_set_accepts_two_references_without_a_value_here() {
    let accounts =
        "[channels.telegram.a]\ntoken = \"${A}\"\n[channels.telegram.b]\ntoken = \"${B}\"\n";
    let home = Home::new(program!()).with_config(accounts);
    printed(&home, &["config", "set", "channels.telegram.a.numbered", "true"]);
    let old = home.path("old.toml");
    fs::write(&old, accounts.replace("${A}", "${NEW}")).unwrap();
    let diff = run(&home, &["config", "diff", old.to_str().unwrap()]);
    let warning = "references without a value here were not compared: channels.telegram.a.token\n";
    assert!(diff.err.ends_with(warning), "{diff:?}");
}

#[test]
fn config_diff_shows_the_keys_that_are_not_in_use_and_hides_secrets() {
    let home = Home::new(program!()).with("KEY", "a-key-of-claude-4711").with_config(COMMENTED);
    let file = home.path(".config/avocet/config.toml");
    assert_fails(&run(&home, &["config", "diff"]), 75, &["no daemon listens on", "avocet run"]);
    let daemon = home.daemon();
    let diff = || printed(&home, &["config", "diff"]);
    assert_eq!(diff(), "The running daemon uses the file as it is.\n");
    let mut text = COMMENTED.replace(
        "[providers.claude]",
        "[telemetry]\nendpoint = \"http://127.0.0.1:1\"\nheaders = { a = \"${KEY}\" }\n[providers.claude]",
    );
    text.push_str("[sessions]\nmax_running = 3\n");
    fs::write(&file, &text).unwrap();
    let waiting = "After a restart of the daemon:\n  sessions.max_running: (default) -> 3\n  \
        telemetry.endpoint: (default) -> \"http://127.0.0.1:1\"\n  \
        telemetry.headers.a: (default) -> (hidden)\n";
    assert_eq!(diff(), waiting);
    let json = printed(&home, &["config", "diff", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let change = serde_json::json!({
        "key": "sessions.max_running", "running": null, "file": "3", "needs_restart": true,
    });
    assert_eq!(json["changes"][0], change);
    stop(daemon);

    let old = home.path("old.toml");
    fs::write(&old, text.replace("offline/commands", "offline/other")).unwrap();
    let of_file = printed(&home, &["config", "diff", old.to_str().unwrap()]);
    let live = "In use within a few seconds:\n  \
        agents.defaults.model: \"offline/other\" -> \"offline/commands\"\n";
    assert_eq!(of_file, live);
    let same = printed(&home, &["config", "diff", file.to_str().unwrap()]);
    assert!(same.starts_with("The values are the same as in "), "{same}");
    assert_fails(&run(&home, &["config", "diff", "gone.toml"]), 1, &["gone.toml does not exist"]);
    let server =
        "[providers.local]\nkind = \"openai\"\nbase_url = \"http://me:word@127.0.0.1:1/v1\"\n";
    fs::write(&old, format!("{text}{server}")).unwrap();
    let of_file = printed(&home, &["config", "diff", old.to_str().unwrap()]);
    let line = "providers.local.base_url: \"http://(hidden)@127.0.0.1:1/v1\" -> (default)";
    assert!(of_file.contains(line) && !of_file.contains("word"), "{of_file}");
    fs::write(&old, "oops = 1\n").unwrap();
    let faulty = run(&home, &["config", "diff", old.to_str().unwrap()]);
    assert_fails(&faulty, 78, &["old.toml", "unknown key `oops`"]);
    fs::write(&file, "oops = 1\n").unwrap();
    assert_fails(&run(&home, &["config", "diff"]), 78, &["unknown key `oops`"]);
}

#[test]
fn config_edit_replaces_the_file_only_with_a_usable_text() {
    let home = Home::new(program!()).with_config(COMMENTED);
    let file = home.path(".config/avocet/config.toml");
    let edit = |home: &Home, script: &str| {
        fs::write(home.path("editor.sh"), format!("#!/bin/sh\n{script}\n")).unwrap();
        let editor = format!("sh {}", home.path("editor.sh").display());
        let mut command = home.command(&["config", "edit"]);
        command.env("EDITOR", editor);
        end(start(command, b""))
    };
    assert_eq!(edit(&home, "true").out, "Nothing has changed.\n");
    let refused = edit(&home, "sed -i s/model/modle/ \"$1\"");
    assert_fails(&refused, 78, &["unknown key `modle`", "did you mean `model`?"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), COMMENTED);
    let failed = edit(&home, "exit 3");
    assert_fails(&failed, 1, &["the editor sh failed"]);
    let done = edit(&home, "sed -i s/mine/ours/ \"$1\"");
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), COMMENTED.replace("mine", "ours"));
    let interrupted = edit(&home, "kill -INT $PPID\nsed -i s/ours/theirs/ \"$1\"");
    assert_eq!(interrupted.code, Some(0), "Ctrl-C is a key of the editor: {interrupted:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), COMMENTED.replace("mine", "theirs"));
    let left = fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert_eq!(left, 2, "the file and its last version");
}

#[test]
fn config_edit_keeps_edits_that_are_not_saved_for_the_next_time() {
    let home = Home::new(program!()).with_config(COMMENTED);
    let directory = home.path(".config/avocet");
    let draft = directory.join(".avocet-config-draft.toml");
    let old = directory.join(".avocet-config-67e55044-10b1-426f-9247-bb680e5fe0c8.toml");
    fs::write(&old, COMMENTED).unwrap();
    let editor = home.path("editor.sh");
    let command = format!("sh {}", editor.display());
    let open = |script: &str| {
        fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        let options = TerminalOptions::new(&home).with_command(&["config", "edit"]);
        options.with_variable("EDITOR", &command).open()
    };
    let mut terminal = open("sed -i s/model/modle/ \"$1\"");
    terminal.wait_for("Edit the file again? [y/n]");
    terminal.press("n\r");
    terminal.wait_for("Your edits are kept");
    assert_eq!(terminal.leave(""), Some(1));
    assert!(!old.exists() && fs::read_to_string(&draft).unwrap().contains("modle"));
    assert_eq!(fs::metadata(&draft).unwrap().permissions().mode() & 0o777, 0o600);
    let without_terminal = run(&home, &["config", "edit"]);
    assert_fails(&without_terminal, 1, &["has edits that are not saved", "draft.toml"]);
    // The editor is killed, and the edits stay once more.
    for (script, is_left) in [("kill -KILL $$", true), ("sed -i s/modle/model/ \"$1\"", false)] {
        let mut terminal = open(script);
        terminal.wait_for("There are edits that were not saved");
        terminal.wait_for(if is_left { "saved. Continue" } else { "after them. Continue" });
        terminal.press("y\r");
        terminal.wait_for(if is_left { "Your edits are kept" } else { "Nothing has changed." });
        assert_eq!(terminal.leave(""), Some(i32::from(is_left)));
        assert_eq!(draft.exists(), is_left);
        fs::write(directory.join("config.toml"), COMMENTED).unwrap();
    }
}
