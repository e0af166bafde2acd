//! Tests of bad configurations: the check and the daemon report each with the same error, its place
//! and its fix. Messages accepted earlier are answered once the configuration is corrected.

use std::fs;

use avocet_tests::{Home, program};

use crate::support::{
    as_nobody, assert_fails, end, is_root, printed, printed_json, run, set_mode, start, stop,
};

pub(crate) const SECRET: &str = "sk-very-secret-4711";

/// A configuration, the place of the error, and the words that the error contains.
pub(crate) type Case = (&'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("data_dri = \"x\"\n", ":1:1", &["unknown key `data_dri`", "did you mean `data_dir`?"]),
    ("[agents.defaults]\n\n  max_tool_iteration = 3\n", ":3:3",
        &["unknown key `max_tool_iteration` in [agents.defaults]", "`max_tool_iterations`?"]),
    ("[chanels.terminal]\n", ":1:2", &["unknown key `chanels`", "did you mean `channels`?"]),
    ("[channels.termnal]\n", ":1:11", &["`termnal`", "did you mean `terminal`?"]),
    ("[channels.terminal]\nhistory_line = 1\n", ":2:1", &["`history_line`", "`history_lines`?"]),
    ("[providers.a]\nkind = \"openai\"\nbase_ulr = \"http://127.0.0.1:1\"\n", ":3:1",
        &["unknown key `base_ulr` in [providers.a]", "did you mean `base_url`?"]),
    ("[zzz]\n", ":1:2", &["unknown key `zzz`", "the keys are data_dir, durability, log, agents, budgets"]),
    ("[tools.mcp_servers.a]\ncommand = \"a\"\nhosts = [\"a b\"]\n", ":3:",
        &["`tools.mcp_servers.a.hosts[0]`", "\"a b\" is not valid"]),
    ("[schedules.a]\nchat = \"fax:main:1\"\nevery = \"1h\"\ntext = \"x\"\n", ":1:",
        &["`schedules.a`", "chat: fax:main:1 is on no configured channel; there are: terminal:local"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\nevery = \"30s\"\ntext = \"x\"\n", ":1:",
        &["`schedules.a`", "30 s is too short", "at least 60 s"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\ncron = \"0 0 8 * * *\"\ntext = \"x\"\n", ":1:",
        &["`schedules.a`", "\"0 0 8 * * *\" is no cron expression (it has 6 fields: leave out", "five fields"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\ncron = \"0 8 * * *\"\nzone = \"Berlin\"\ntext = \"x\"\n", ":1:",
        &["`schedules.a`", "unknown time zone \"Berlin\"", "did you mean Europe/Berlin?"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\nevery = \"1h\"\ntext = \"x\"\ntask = \"y\"\n", ":1:",
        &["`schedules.a`", "write either text or task"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\ntext = \"x\"\n", ":1:",
        &["`schedules.a`", "write either every or cron"]),
    ("[schedules.a]\nevery = \"1h\"\ntext = \"x\"\n", ":1:", &["`schedules.a`", "chat is missing"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\nevery = \"1h\"\ntaks = \"x\"\n", ":4:1",
        &["unknown key `taks` in [schedules.a]", "did you mean `task`?"]),
    ("[schedules.a]\nchat = \"terminal:local:me\"\nevery = \"1h\"\ntask = \"x\"\nagent = \"bilder\"\n", ":1:",
        &["`schedules.a`", "there is no agent \"bilder\"; did you mean builder?"]),
    ("[schedules.heartbeat]\nchat = \"terminal:local:me\"\nevery = \"1h\"\ntext = \"x\"\n", ":1:",
        &["`schedules.heartbeat`", "the table is [heartbeat]"]),
    ("[heartbeat]\nevery = \"1h\"\n", ":1:", &["`heartbeat`", "chat is missing"]),
    ("durability = \"maybe\"\n", ":1:1", &["`durability`", "`maybe`", "`synced` or `process`"]),
    ("[budgets]\nday_usd = -1\n", ":2:1", &["`budgets.day_usd`", "0 or more, or \"none\""]),
    ("[backup]\nevery = \"daily\"\n", ":2:1", &["`backup.every`", "\"daily\" is not a time", "\"6h\""]),
    ("[backup]\nkeep = 0\n", ":2:1", &["`backup.keep`", "at least 1"]),
    ("[sessions]\nmax_running = \"many\"\n", ":2:1", &["`sessions.max_running`", "\"many\""]),
    ("[agents.defaults]\nmodel = \"local/qwen3\"\n", ":2:1",
        &["\"local\"", "there are offline", "Add a table [providers.local]"]),
    ("[agents.defaults]\nmodel = \"qwen3\"\n", ":2:1", &["\"qwen3\"", "provider/model"]),
    ("[providers.a]\nkind = \"opnai\"\n", ":2:1", &["\"opnai\"", "the kinds are anthropic, gemini, offline, ollama, openai"]),
    ("[channels.telegram.a]\ntoken = \"1:a\"\n[channels.telegram.b]\ntoken = \"1:a\"\n", ":4:1",
        &["`channels.telegram.b.token`", "the accounts a and b have the same token"]),
    ("data_dir = \"x\n", ":1:", &["no closing quotation mark"]),
    ("[providers.a]\nkind = \"openai\"\nbase_url = \"nonsense\"\n", ":3:1",
        &["`providers.a.base_url`", "not the URL of a server"]),
    ("[providers.a]\nkind = \"ollama\"\nbase_url = \"http://127.0.0.1:11434/v1\"\n", ":3:1",
        &["`providers.a.base_url`", "leave out /v1"]),
    ("[providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:8080/v1/chat/completions\"\n", ":3:1",
        &["`providers.a.base_url`", "leave out /chat/completions: write \"http://127.0.0.1:8080/v1\""]),
    ("[providers.a]\nkind = \"openai\"\napi_key = \"sk-one\\n\"\n", ":3:1",
        &["`providers.a.api_key`", "contains a line break"]),
    ("[providers.a]\nkind = \"openai\"\nbase_url = \"ftp://a/v1\"\n", ":3:1",
        &["`providers.a.base_url`", "http:// or https://"]),
    ("[providers.a]\nkind = \"openai\"\nuntrusted = true\nbase_url = \"http://192.168.1.7:8080/v1\"\n", ":4:1",
        &["`providers.a.base_url`", "http://192.168.1.7:8080 is refused", "192.168.1.7 is not public"]),
    ("[providers.a]\nkind = \"openai\"\napi_key = \"${KEY\"\n", ":3:11", &["lacks a closing brace"]),
    // A secret in the wrong place stays hidden too.
    ("[sessions]\nmax_running = \"${KEY}\"\n", ":2:1", &["`sessions.max_running`", "wrong type"]),
    ("[agents.defaults]\nmodel = \"${KEY}\"\n", ":2:1", &["`agents.defaults.model`"]),
    ("[agents.defaults]\nmodel = \"${KEY}/x\"\n", ":2:1", &["`agents.defaults.model`"]),
    ("[agents.defaults]\nfallbacks = [\"offline/commands\", \"b/x\"]\n", ":2:34",
        &["`agents.defaults.fallbacks[1]`", "no provider \"b\"", "[providers.b]"]),
    ("[agents.defaults]\nfallbacks = [\"${KEY}\"]\n", ":2:14",
        &["`agents.defaults.fallbacks[0]`"]),
    ("[agents.work]\nmodel = \"b/x\"\n", ":2:1",
        &["`agents.work.model`", "no provider \"b\"", "[providers.b]"]),
    ("[agents.work]\nmax_turn_token = 1\n", ":2:1", &["in [agents.work]", "`max_turn_tokens`?"]),
    ("[sandbox]\nhosts = [\"crates.io\", \"https://crates.io\"]\n", ":2:23",
        &["`sandbox.hosts[1]`", "\"https://crates.io\" is not valid", "write only a host, such \
            as crates.io"]),
    ("[sandbox]\nhosts = [\"localhost:3000\"]\n", ":2:10", &["`sandbox.hosts[0]`", "as \
        127.0.0.1:3000"]),
    ("[sandbox]\nhosts = [\"crates.io:https\"]\n", ":2:10", &["`sandbox.hosts[0]`", "from 1 to \
        65535"]),
    ("[sandbox]\nhosts = [\"${KEY}/x\"]\n", ":2:10", &["`sandbox.hosts[0]`"]),
    ("[models.\"offline/*\"]\nprice = { input = -1, output = 1 }\n", ":2:11",
        &["`models.offline/*.price.input`", "-1 is not a price"]),
    ("[models.\"${KEY}/x\"]\n", ":1:9", &["no provider"]),
    ("[providers.a]\nkind = \"${KEY}\"\n", ":2:1", &["`providers.a.kind`"]),
    ("[providers.a]\nkind = \"openai\"\napi_key = \"${KEY}\"\nx = 1\n", ":4:1", &["`x`"]),
    ("[providers.a]\nkind = \"openai\"\napi_key = \"${KEY}\n", ":3:", &["no closing quotation \
        mark"]),
];

/// References without a value here: a daemon refuses them, a check warns of each.
#[rustfmt::skip]
const UNRESOLVED: &[Case] = &[
    ("[providers.a]\nkind = \"openai\"\napi_key = \"${NOT_THERE}\"\n", ":3:11",
        &["`providers.a.api_key`", "environment variable NOT_THERE is not set"]),
    ("[providers.a]\nkind = \"openai\"\napi_key = \"${file:/not/there}\"\n", ":3:11",
        &["`providers.a.api_key`", "/not/there cannot be read (No such file or directory)"]),
    ("[providers.a]\nkind = \"openai\"\napi_key = \"${credential:key}\"\n", ":3:11",
        &["`providers.a.api_key`", "no credential key here", "LoadCredential= in the unit"]),
    ("[providers.a]\nkind = \"${KIND}\"\n", ":2:8", &["`providers.a.kind`", "KIND is not set"]),
    ("data_dir = \"${PLACE}/x\"\n", ":1:12", &["`data_dir`", "PLACE is not set"]),
];

#[test]
fn f29_bad_config_is_refused_with_its_position_and_loses_no_message() {
    let home = Home::new(program!()).with("KEY", SECRET);
    printed(&home, &["ask", "me", "count to 2"]);
    let path = home.path("bad.toml").display().to_string();
    let mut wrong = Vec::new();
    for (text, place, names) in CASES {
        fs::write(home.path("bad.toml"), text).unwrap();
        let ran = run(&home, &["config", "check", "--config", &path]);
        let place = format!("bad.toml{place}");
        let named = [&[place.as_str()], *names].concat();
        let named = named.iter().all(|name| ran.err.contains(name));
        let one = ran.err.starts_with("error: ") && ran.err.lines().count() == 1;
        if ran.code != Some(78) || !ran.out.is_empty() || !named || !one || ran.err.contains(SECRET)
        {
            wrong.push(format!("{text:?}: not {place} and {names:?}: {ran:?}"));
        }
        if ran.code == Some(78) {
            assert_eq!(run(&home, &["run", "--config", &path]), ran, "{text}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    answers_what_was_accepted(&home);
}

#[test]
fn unset_variable_is_refused_by_run_and_a_warning_of_config_check() {
    let home = Home::new(program!());
    let path = home.path("bad.toml").display().to_string();
    let with = |command: &[&str]| run(&home, &[&["--config", &path], command].concat());
    for (text, place, names) in UNRESOLVED {
        fs::write(home.path("bad.toml"), text).unwrap();
        let place = format!("bad.toml{place}");
        let names = [&[place.as_str()], *names].concat();
        assert_fails(&with(&["run"]), 78, &names);
        let checked = with(&["config", "check"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert!(checked.err.starts_with("warning: "), "{checked:?}");
        names.iter().for_each(|name| assert!(checked.err.contains(name), "{checked:?}"));
        assert!(checked.out.ends_with("that has values for these references.\n"));
        // Other errors are still reported.
        fs::write(home.path("bad.toml"), format!("durability = \"maybe\"\n{text}")).unwrap();
        assert_fails(&with(&["config", "check"]), 78, &["`durability`"]);
    }
    let json = "[providers.a]\nkind = \"openai\"\napi_key = \"${NOT_THERE}\"\n";
    fs::write(home.path("bad.toml"), json).unwrap();
    let found = printed_json(&home, &["config", "check", "--config", &path]);
    assert_eq!(found["unresolved"][0]["key"], "providers.a.api_key");
}

#[test]
fn config_with_a_fault_is_a_warning_of_commands_that_ask_the_running_daemon() {
    let good = "data_dir = \"../../data\"\n";
    let home = Home::new(program!()).with_config(good);
    let file = home.path(".config/avocet/config.toml");
    let mut daemon = home.daemon();
    for (fault, word) in [("oops = 1\n", "unknown key `oops`"), ("[log\n", "config.toml:2:")] {
        fs::write(&file, format!("{good}{fault}")).unwrap();
        daemon.wait_for("cannot use the changed configuration");
        let commands: [&[&str]; 5] = [
            &["ask", "me", "count to 1", "--wait"],
            &["send", "me", "hi"],
            &["sessions", "show", "me"],
            &["approvals"],
            &["mcp", "approve", "absent"],
        ];
        for command in commands {
            let ran = run(&home, command);
            assert!(ran.err.starts_with("warning: ") && ran.err.contains(word), "{ran:?}");
            assert_eq!(ran.err.matches(word).count(), 1, "{ran:?}");
            assert_ne!(ran.code, Some(78), "{ran:?}");
        }
        assert_eq!(run(&home, commands[0]).out, "1.\n");
        let status = printed(&home, &["status"]);
        assert!(status.contains("process ") && status.matches(word).count() == 1, "{status}");
        let set = run(&home, &["config", "set", "sessions.max_running", "2"]);
        assert_eq!(set.code, Some(if fault == "[log\n" { 1 } else { 78 }), "{set:?}");
    }
    fs::write(&file, format!("{good}oops = 1\n")).unwrap();
    stop(daemon);
    for command in [&["ask", "me", "hi"][..], &["send", "me", "hi"], &["status"], &["approvals"]] {
        assert_fails(&run(&home, command), 78, &["config.toml:2:1", "unknown key `oops`"]);
    }
}

#[test]
fn config_set_of_the_faulty_key_repairs_the_file() {
    let home = Home::new(program!()).with_config("durability = \"maybe\"\n");
    let ran = run(&home, &["config", "set", "sessions.max_running", "2"]);
    assert_fails(&ran, 78, &["`durability`"]);
    printed(&home, &["config", "set", "durability", "process"]);
    printed(&home, &["config", "check"]);
}

/// Checks that the daemon answers the messages from before the bad configuration.
#[track_caller]
fn answers_what_was_accepted(home: &Home) {
    let _daemon = home.daemon();
    assert_eq!(printed(home, &["ask", "me", "count to 1", "--wait"]), "1.\n");
    let transcript = printed(home, &["sessions", "show", "me"]);
    assert!(transcript.contains("avocet: 1, 2.\n"), "{transcript}");
}

#[test]
fn config_file_that_is_unusable_is_named_with_the_reason() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    fs::create_dir(home.path("directory.toml")).unwrap();
    fs::write(home.path("latin1.toml"), b"# caf\xe9\n").unwrap();
    let table: [(&str, &[&str]); 3] = [
        ("absent.toml", &["there is no such file"]),
        ("directory.toml", &["cannot be read", "Is a directory"]),
        ("latin1.toml", &["not UTF-8", "at byte 5"]),
    ];
    for (file, names) in table {
        for command in [&["config", "check"][..], &["run"], &["status"], &["ask", "me", "hi"]] {
            let ran = run(&home, &[&["--config", file], command].concat());
            assert_fails(&ran, 78, &[&[file], names].concat());
        }
    }
    let from_variable = Home::new(program!()).with("AVOCET_CONFIG", "absent.toml");
    assert_fails(&run(&from_variable, &["run"]), 78, &["absent.toml", "there is no such file"]);
    answers_what_was_accepted(&home);
}

#[test]
fn config_file_without_read_permission_is_refused_until_opened() {
    let home = Home::new(program!()).with_config("");
    let mut check = as_nobody(&home, &["config", "check"]);
    let config = ".config/avocet/config.toml";
    if is_root() {
        // Give the other user access to the file; the test closes it later.
        [".config", ".config/avocet"].iter().for_each(|below| set_mode(&home, below, 0o755));
        set_mode(&home, config, 0o644);
    }
    let ran = end(start(check, b""));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    set_mode(&home, config, 0o000);
    check = as_nobody(&home, &["config", "check"]);
    let names = ["config.toml", "cannot be read", "Permission denied"];
    assert_fails(&end(start(check, b"")), 78, &names);
}

#[test]
fn workspace_that_is_unusable_is_refused_and_loses_no_message() {
    let home = Home::new(program!());
    printed(&home, &["ask", "me", "count to 2"]);
    fs::write(home.path("file"), "").unwrap();
    for workspace in ["file", "file/below"] {
        let text = format!("[agents.defaults]\nworkspace = \"{workspace}\"\n");
        fs::write(home.path("bad.toml"), text).unwrap();
        for command in [&["run"][..], &["chat"]] {
            let ran = run(&home, &[&["--config", "bad.toml"], command].concat());
            let fix = "check the path, its owner and its permissions";
            assert_fails(&ran, 78, &["the workspace", workspace, "irectory", fix]);
        }
    }
    answers_what_was_accepted(&home);
}

#[test]
fn workspace_without_permission_is_refused_until_opened() {
    let home = Home::new(program!()).with_config(
        "data_dir = \"../../data\"\n[agents.defaults]\nworkspace = \"../../closed\"\n",
    );
    for below in ["data", "closed"] {
        fs::create_dir(home.path(below)).unwrap();
        if is_root() {
            std::os::unix::fs::chown(home.path(below), Some(65534), Some(65534)).unwrap();
        }
    }
    let ask = |arguments: &[&str]| end(start(as_nobody(&home, arguments), b"count to 2\n"));
    assert_eq!(ask(&["ask", "me"]).code, Some(0));
    set_mode(&home, "closed", 0o000);
    for command in ["run", "chat"] {
        let ran = ask(&[command]);
        assert_fails(&ran, 78, &["the workspace", "closed", "Permission denied", "permissions"]);
    }
    set_mode(&home, "closed", 0o755);
    let ran = ask(&["chat"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1, 2.\n1, 2.\n"), "{ran:?}");
}

#[test]
fn data_dir_that_is_unusable_is_named() {
    let home = Home::new(program!()).with_config("data_dir = \"file\"\n");
    fs::write(home.path(".config/avocet/file"), "").unwrap();
    for command in
        [&["config", "check"][..], &["run"], &["ask", "me", "hi"], &["send", "me", "hi"], &["chat"]]
    {
        let ran = run(&home, command);
        assert_fails(&ran, 78, &[":1:1", "`data_dir`", "avocet/file is not a directory; name"]);
    }
}

#[test]
fn config_check_refuses_mistakes_that_a_daemon_tolerates() {
    const OLLAMA: &str = "[providers.a]\nkind = \"ollama\"\n";
    let table = [
        (
            "[tools.mcp_servers.a]\ntimeout_seconds = 5\n".to_owned(),
            ":1:20",
            "`tools.mcp_servers.a`: the server has neither a command nor a URL",
        ),
        (
            format!("{OLLAMA}[agents.defaults]\nmodel = \"a/b\"\nfallbacks = [\"a/c\", \"a/b\"]\n"),
            ":5:",
            "`agents.defaults.fallbacks[1]`: \"a/b\" is the model itself",
        ),
        (
            "[tools.mcp_servers.a]\ncommand = \"no-such-program\"\n".to_owned(),
            ":2:1",
            "`tools.mcp_servers.a.command`: there is no program \"no-such-program\"",
        ),
        (
            "[channels.fax]\ncommand = [\"/nowhere/fax\"]\n".to_owned(),
            ":2:",
            "`channels.fax.command[0]`: there is no program \"/nowhere/fax\"",
        ),
    ];
    for (text, place, says) in table {
        let home = Home::new(program!()).with_config(&text);
        assert_fails(&run(&home, &["config", "check"]), 78, &[place, says]);
    }
    // A profile may choose one of the shared fallbacks, and a server may bring its own `PATH`.
    let fine = format!(
        "{OLLAMA}[agents.defaults]\nmodel = \"a/b\"\nfallbacks = [\"a/c\"]\n[agents.work]\n\
         model = \"a/c\"\n[tools.mcp_servers.b]\ncommand = \"mine\"\nenv = {{ PATH = \"/opt\" }}\n"
    );
    printed(&Home::new(program!()).with_config(&fine), &["config", "check"]);
}
