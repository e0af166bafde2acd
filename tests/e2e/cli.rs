//! Tests of the command line: its help, its errors, its completions.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use avocet_tests::{Home, program};

use crate::support::{assert_fails, end, run, start, stop};

/// Every command; the empty name is the program itself.
const COMMANDS: &[&str] = &[
    "",
    "acp",
    "agents",
    "agents list",
    "agents show",
    "approvals",
    "approvals approve",
    "approvals deny",
    "ask",
    "audit",
    "audit verify",
    "backup",
    "chat",
    "completions",
    "config",
    "config check",
    "config diff",
    "config edit",
    "config get",
    "config set",
    "db",
    "db size",
    "db vacuum",
    "dead",
    "dead drop",
    "dead list",
    "dead retry",
    "dead show",
    "doctor",
    "events",
    "help",
    "init",
    "job",
    "job cancel",
    "job list",
    "job logs",
    "job show",
    "job submit",
    "link",
    "mcp",
    "mcp add",
    "mcp approve",
    "mcp list",
    "mcp login",
    "mcp logout",
    "mcp remove",
    "mcp serve",
    "mcp test",
    "mcp tools",
    "memory",
    "memory add",
    "memory consolidate",
    "memory erase",
    "memory export",
    "memory forget",
    "memory list",
    "memory log",
    "memory search",
    "memory show",
    "memory undo",
    "models",
    "models update",
    "pair",
    "pair approve",
    "pair deny",
    "pair list",
    "people",
    "people erase",
    "people export",
    "people list",
    "people remove",
    "prompt",
    "prove",
    "recover",
    "replay",
    "restore",
    "resume",
    "rules",
    "rules add",
    "rules list",
    "rules remove",
    "run",
    "schedule",
    "schedule add",
    "schedule list",
    "schedule pause",
    "schedule remove",
    "schedule resume",
    "schedule run",
    "schedule show",
    "send",
    "service",
    "service install",
    "service logs",
    "service status",
    "service uninstall",
    "sessions",
    "sessions delete",
    "sessions erase",
    "sessions export",
    "sessions list",
    "sessions show",
    "skills",
    "skills add",
    "skills check",
    "skills list",
    "skills remove",
    "skills show",
    "status",
    "stop",
    "subscribers",
    "subscribers list",
    "subscribers remove",
    "tasks",
    "tasks cancel",
    "tasks list",
    "tasks show",
    "top",
    "trace",
    "trust",
    "update",
    "usage",
    "web",
];

fn help(words: &str) -> String {
    let home = Home::new(program!()).with("COLUMNS", "100");
    let arguments: Vec<&str> = words.split_whitespace().chain(["--help"]).collect();
    let mut command = home.command(&arguments);
    command.arg0("avocet");
    let ran = end(start(command, b""));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words}");
    assert!(!home.data_dir().exists(), "help leaves nothing behind");
    ran.out
}

#[test]
fn help_explains_every_command() {
    for words in COMMANDS {
        let name = format!("help {words}").trim().replace(' ', "_");
        insta::assert_snapshot!(name, help(words));
    }
}

#[test]
fn help_names_only_commands_in_the_list() {
    let mut named = vec![String::new()];
    for above in COMMANDS {
        let help = help(above);
        let commands = listed(&help).into_iter();
        let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !name.is_empty());
        named.extend(names.map(|name| format!("{above} {name}").trim().to_owned()));
    }
    named.sort();
    assert_eq!(named, COMMANDS);
}

/// Returns the lines of a help text that list commands. The program has several groups of them.
fn listed(help: &str) -> Vec<&str> {
    const GROUPS: [&str; 7] =
        ["Commands:", "Talk:", "Set up:", "Work:", "Look:", "Repair:", "Help:"];
    let mut is_list = false;
    let mut found = Vec::new();
    for line in help.lines() {
        is_list = if line.is_empty() { false } else { is_list || GROUPS.contains(&line) };
        if is_list && !GROUPS.contains(&line) {
            found.push(line);
        }
    }
    found
}

#[test]
fn help_command_prints_the_help_of_a_command() {
    let home = Home::new(program!());
    for (words, option) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "ask"], &["ask", "--help"]),
        (&["help", "mcp", "add"], &["mcp", "add", "--help"]),
    ] {
        let (ran, expected) = (run(&home, words), run(&home, option));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}");
        // The usage line has the name of the program's file or its own.
        let without_usage = |text: &str| {
            text.lines().filter(|line| !line.starts_with("Usage:")).map(str::to_owned).collect()
        };
        let texts: [Vec<String>; 2] = [without_usage(&ran.out), without_usage(&expected.out)];
        assert_eq!(texts[0], texts[1], "{words:?}");
    }
    let ran = run(&home, &["help", "nope"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.err.contains("nope"), "{}", ran.err);
}

#[test]
fn wrong_usage_exits_with_2_names_the_word_and_changes_nothing() {
    let table: [(&[&str], &str); 17] = [
        (&["--nope"], "--nope"),
        (&["nope"], "nope"),
        (&["ask"], "<SESSION>"),
        (&["send"], "<CHAT>"),
        (&["config"], "<COMMAND>"),
        (&["link", "me"], "<CHAT>"),
        (&["pair"], "<COMMAND>"),
        (&["pair", "approve"], "<CODE>"),
        (&["people", "remove", "telegram:main"], "channel:account:sender"),
        (&["sessions"], "<COMMAND>"),
        (&["sessions", "list", "--limit", "many"], "many"),
        (&["completions", "tcsh"], "tcsh"),
        (&["ask", "me", "hi", "--timeout", "3"], "--wait"),
        (&["ask", "me", "hi", "--key", "a/b"], "a/b"),
        (&["ask", "me:and:who", "hi", "more"], "more"),
        (&["ask", "two:parts", "hi"], "two:parts"),
        (&["run", "--start-emtpy"], "--start-empty"),
    ];
    let home = Home::new(program!());
    for (arguments, name) in table {
        let ran = run(&home, arguments);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(name), "{name:?} is not in: {}", ran.err);
        assert!(ran.err.contains("--help") || ran.err.contains("Usage:"), "{}", ran.err);
        let is_group = name == "<COMMAND>";
        assert_ne!(ran.err.starts_with("error: "), is_group, "{arguments:?}: {}", ran.err);
    }
    assert!(!home.data_dir().exists());
}

#[test]
fn version_is_that_of_the_package() {
    let home = Home::new(program!());
    assert_eq!(run(&home, &["--version"]).out, "avocet 0.1.0\n");
}

#[test]
fn update_names_the_versions_and_the_way_and_asks_no_server() {
    let home = Home::new(program!());
    let ran = run(&home, &["update", "--check", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&found["version"], &found["daemon"]), (&"0.1.0".into(), &().into()), "{found}");
    let daemon = home.daemon();
    let ran = run(&home, &["update", "--check"]);
    let says = "This program is avocet 0.1.0; the running daemon has the same version.\n";
    assert!(ran.out.starts_with(says) && ran.out.contains("To update, "), "{ran:?}");
    stop(daemon);
}

#[test]
fn log_level_that_is_unknown_is_refused_before_the_start() {
    let home = Home::new(program!());
    for (level, meant) in [("loud", "did you mean debug?"), ("inof", "did you mean info?")] {
        let ran = run(&home, &["run", "--log", level]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains("--log") && ran.err.contains(meant), "{ran:?}");
        let home = Home::new(program!()).with_config(&format!("[log]\nlevel = \"{level}\"\n"));
        assert_fails(&run(&home, &["run"]), 78, &["config.toml:2:1: `log.level`: ", meant]);
    }
    assert!(!home.data_dir().exists());
}

#[test]
fn completions_exist_for_every_shell() {
    let home = Home::new(program!());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.run(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{shell}");
        for word in ["avocet", "sessions", "--start-empty"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(ran.out.contains(word), "{shell} does not complete {word}");
        }
    }
}

#[test]
fn completions_for_bash_are_valid_bash() {
    let script = Home::new(program!()).run(&["completions", "bash"]).out;
    let mut bash = Command::new("bash");
    bash.arg("-n");
    let ran = end(start(bash, script.as_bytes()));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn closed_stdout_is_not_a_failure() {
    let home = Home::new(program!());
    for arguments in [&["completions", "bash"][..], &["config", "check"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.command(arguments);
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let ran = end(command.spawn().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}
