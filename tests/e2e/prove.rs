//! Tests of `avocet prove`: it finds nothing with the defaults, finds a bad rule, and leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use avocet_testkit::{SystemPart, skip_without};
use avocet_tests::{Home, ProgramOutput, program};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{assert_fails, run, stop, until};

const EVERYTHING: &str = include_str!("../corpus/injections/everything.toml");
const SERVER: &str = include_str!("mcp_server.py");

/// A home with an own directory for temporary files.
fn with_temporary_directory(config: &str) -> Home {
    let home = Home::new(program!()).with_config(config);
    let temporary = home.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let temporary = temporary.display().to_string();
    home.with("TMPDIR", &temporary)
}

fn prove(home: &Home, more: &[&str]) -> (ProgramOutput, Value) {
    let ran = run(home, &[&["prove", "--json"], more].concat());
    let report = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(entries(&home.path("tmp")), Vec::<String>::new(), "the throw-away home is removed");
    (ran, report)
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the sum of a column of the table.
fn sum(report: &Value, column: &str) -> u64 {
    report["kinds"].as_array().unwrap().iter().map(|row| row[column].as_u64().unwrap()).sum()
}

/// Returns the content of every file below a directory, by its path.
fn all_files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in entries(directory) {
        let path = directory.join(&name);
        if path.is_dir() {
            let below = all_files(&path);
            files.extend(below.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn prove_finds_nothing_with_the_defaults_and_leaves_nothing_behind() {
    let home = with_temporary_directory("");
    let workspace = home.workspace();
    fs::create_dir_all(workspace.join("project")).unwrap();
    fs::write(workspace.join("project/notes.md"), "Buy milk.").unwrap();
    let before = all_files(&home.data_dir());
    let (ran, report) = prove(&home, &["--scenarios", "54"]);
    assert_eq!(ran.code, Some(0), "{report:#}");
    assert_eq!((report["scenarios"].as_u64(), sum(&report, "left")), (Some(54), 0), "{report:#}");
    assert_eq!(report["kinds"].as_array().unwrap().len(), 18, "{report:#}");
    let unread = report["unread"].as_array().unwrap();
    let unread: u64 = unread.iter().map(|one| one["scenarios"].as_u64().unwrap()).sum();
    // Without a sandbox, no program runs that could show a text.
    assert_eq!(sum(&report, "obeyed") + unread, 54, "{report:#}");
    let ends = ["asked", "refused", "marked", "failed"].map(|column| sum(&report, column));
    assert_eq!(ends.iter().sum::<u64>(), sum(&report, "obeyed"), "{report:#}");
    assert!(sum(&report, "asked") > 40, "{report:#}");
    assert_eq!(all_files(&home.data_dir()), before, "the operator's own files stay as they are");
}

#[test]
fn prove_names_the_rule_that_lets_a_stranger_send_messages() {
    let config = "[tools.policy]\n\"mess*\" = { low_trust = \"allow\" }\n\
                  [channels.telegram]\ntoken = \"1:AA-secret-of-the-bot\"\nowners = [5]\n\
                  [tools.channels.telegram]\ndeny = [\"web_fetch\"]\n";
    let home = with_temporary_directory(config);
    let (ran, report) = prove(&home, &["--scenarios", "16", "--only", "exfiltrate by message"]);
    assert_eq!(ran.code, Some(1), "{report:#}");
    let leaks = report["leaks"].as_array().unwrap();
    assert!(leaks.len() > 5, "{report:#}");
    for leak in leaks {
        let why = leak["why"].as_str().unwrap();
        assert!(why.contains("[tools.policy] \"mess*\" has low_trust = \"allow\""), "{why}");
        assert_eq!((&leak["tool"], &leak["account"]), (&json!("message"), &json!("main")));
    }
    // The list of tools of the operator's own channel holds: no page was read.
    assert!(!report["leaks"].to_string().contains("web page"), "{report:#}");
    assert!(report["unread"].to_string().contains("web page"), "{report:#}");
    let table = run(&home, &["prove", "--scenarios", "4", "--only", "exfiltrate by message"]);
    assert_eq!(table.code, Some(1), "{table:?}");
    assert!(table.out.contains("\nLEFT i"), "{}", table.out);
    assert!(!table.out.contains("secret-of-the-bot"), "{}", table.out);
}

#[test]
fn prove_replaces_models_platforms_and_hosts_of_a_whole_configuration() {
    let home = with_temporary_directory(EVERYTHING);
    for directory in ["readable", "notes", "build", "work"] {
        fs::create_dir(home.path(directory)).unwrap();
    }
    fs::write(home.path("work/plan.md"), "Buy milk.").unwrap();
    let (ran, report) = prove(&home, &["--scenarios", "54"]);
    assert_eq!(ran.code, Some(0), "{report:#}");
    assert_eq!(sum(&report, "scenarios"), 54, "{report:#}");
    // The rule of the configuration refuses programs without a question.
    let kinds = report["kinds"].as_array().unwrap();
    let shell = kinds.iter().find(|row| row["kind"] == "the shell").unwrap();
    assert_eq!((&shell["asked"], &shell["refused"]), (&json!(0), &shell["obeyed"]), "{report:#}");
    let left_out = report["left_out"].to_string();
    for part in ["[sandbox] write", "[tools] write", "[sandbox] hosts"] {
        assert!(left_out.contains(part), "{part}: {left_out}");
    }
    assert_eq!(entries(&home.path("work")), ["plan.md"]);
}

#[test]
fn prove_runs_beside_the_daemon_and_does_not_touch_it() {
    let home = with_temporary_directory("");
    let daemon = home.daemon();
    let before = run(&home, &["sessions", "list", "--json"]).out;
    let (ran, report) = prove(&home, &["--scenarios", "6", "--only", "schedule"]);
    assert_eq!(ran.code, Some(0), "{report:#}");
    assert_eq!(run(&home, &["sessions", "list", "--json"]).out, before);
    assert_eq!(run(&home, &["schedule", "list", "--json"]).out.trim(), "[]");
    stop(daemon);
}

#[test]
fn prove_calls_the_tools_of_the_operators_own_servers_without_their_secrets() {
    let home = with_temporary_directory("");
    fs::create_dir(home.path("server")).unwrap();
    let script =
        format!("import os\nassert os.environ[\"SERVER_TOKEN\"] != \"4711-secret\"\n{SERVER}");
    fs::write(home.path("server/server.py"), script).unwrap();
    let (server, directory) = (home.path("server/server.py"), home.path("server"));
    let home = home.with_config(&format!(
        "[tools.mcp_servers.own]\ncommand = \"python3\"\nargs = [{server:?}, {directory:?}]\n\
         write = [{directory:?}]\nenv = {{ SERVER_TOKEN = \"4711-secret\" }}\n\
         [tools.mcp_servers.far]\nurl = \"https://mcp.example.com/mcp\"\n\
         [tools.policy]\nown__echo = {{ low_trust = \"allow\" }}\n"
    ));
    let (ran, report) = prove(&home, &["--scenarios", "1"]);
    let left_out = report["left_out"].to_string();
    if left_out.contains("[tools.mcp_servers.own]:") {
        skip_without(SystemPart::ProgramSandbox);
        return;
    }
    assert_eq!(ran.code, Some(1), "{report:#}");
    assert!(left_out.contains("[tools.mcp_servers.far]: it reaches another host"), "{left_out}");
    assert!(left_out.contains("[tools.mcp_servers.own] write:"), "{left_out}");
    let kinds = report["kinds"].as_array().unwrap();
    let own = kinds.iter().find(|row| row["kind"] == "your tool servers").unwrap();
    assert_eq!((&own["scenarios"], &own["left"]), (&json!(3), &json!(1)), "{report:#}");
    assert_eq!(report["leaks"][0]["tool"], "own__echo", "{report:#}");
    assert!(!home.path("server/description.txt").exists(), "the operator's files stay");
}

#[test]
fn prove_stopped_by_a_signal_removes_its_home() {
    let home = with_temporary_directory("");
    let mut proving = home.spawn(&["prove", "--scenarios", "5000"]);
    until("the throw-away home", || (!entries(&home.path("tmp")).is_empty()).then_some(()));
    proving.signal(Signal::INT);
    let (status, said) = proving.wait();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("stopped by SIGINT"), "{said}");
    assert_eq!(entries(&home.path("tmp")), Vec::<String>::new());
}

#[test]
fn prove_refuses_an_unknown_kind_and_a_bad_configuration() {
    let home = with_temporary_directory("");
    assert_fails(&run(&home, &["prove", "--only", "shells"]), 2, &["\"shells\"", "the shell"]);
    let home = home.with_config("[tools.policy]\nexec_shel = \"ask\"\n");
    assert_fails(&run(&home, &["prove"]), 78, &["exec_shel"]);
}
