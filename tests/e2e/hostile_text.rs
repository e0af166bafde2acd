//! Tests that no command prints control sequences, from any source of text.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, ProgramOutput, program};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{end, start, stop, until};

/// Clears the screen, sets the title, uses C1 codes, overrides the direction, hides a tag.
const HOSTILE: &str = "x\u{1b}[2Jy\u{1b}]0;pwned\u{7}z\u{9b}31m\u{9d}0;t\u{9c}\u{202e}gnp.exe\u{2066}\rover\u{8}\u{7f}\u{e0041}!";

/// The visible rest in printed text, its escaped form in JSON, and that of a question for approval.
const LEFT: [&str; 3] = ["x[2Jy", "\\u001b[2Jy", "u{1b}[2Jy"];

/// Returns `true` for characters that must be absent from all output.
fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

#[track_caller]
fn assert_harmless(command: &str, ran: &ProgramOutput) {
    for (stream, text) in [("stdout", &ran.out), ("stderr", &ran.err)] {
        let found = text.chars().find(|c| is_obeyed(*c));
        assert_eq!(found, None, "{command}: {stream} has it: {text:?}");
    }
}

#[track_caller]
fn assert_shows(command: &str, ran: &ProgramOutput) {
    let shown = format!("{}{}", ran.out, ran.err);
    let shows = LEFT.iter().any(|left| shown.contains(left));
    assert!(shows, "{command} shows nothing of it: {ran:?}");
}

/// A model that writes the text, puts it into a file, or is refused with it.
async fn model() -> OpenAiFake {
    OpenAiFake::start(|request| match last_user_text(request) {
        "fail" => {
            let error = json!({ "error": { "message": HOSTILE } });
            ModelAnswer::Status(400, vec![], error.to_string())
        }
        "write" => ModelAnswer::call("write_file", json!({ "path": "a.txt", "content": HOSTILE })),
        _ => ModelAnswer::says(HOSTILE),
    })
    .await
}

fn home(model: &OpenAiFake) -> Home {
    let name = HOSTILE.chars().filter(|c| !c.is_whitespace());
    let name: String = name.map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    let config = format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\nmax_retries = 0\n\
         [agents.defaults]\nmodel = \"fake/{name}\"\n[tools.policy]\nwrite_file = \"ask\"\n",
        model.base_url()
    );
    Home::new(program!()).with_config(&config)
}

async fn ran(home: &Home, arguments: &[&str], input: &str) -> ProgramOutput {
    let (command, input) = (home.command(arguments), input.to_owned());
    let ended = avocet_supervise::run_blocking(move || end(start(command, input.as_bytes())));
    ended.await.unwrap()
}

/// Puts the text into all columns of the log that hold names from outside.
fn poison(home: &Home) {
    let log = Connection::open(home.data_dir().join("avocet.db")).unwrap();
    let people = "INSERT INTO people VALUES ('telegram', 'main', '8', ?1, 'user', 1)";
    let far = "9999999999999";
    let pairing = format!(
        "INSERT INTO pairings VALUES ('K7QXM2PA', 'telegram', 'main', '9', '9', ?1, 1, {far}, NULL, NULL, NULL)"
    );
    let audit = "UPDATE audit SET summary = ?1, outcome = ?1 WHERE sequence = 1";
    let usage = "UPDATE usage SET model = ?1";
    let ignored = "INSERT INTO ignored (channel, account, reason, count) VALUES ('t', 'm', ?1, 1)";
    for sql in [people, &pairing, audit, usage, ignored] {
        log.execute(sql, [HOSTILE]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Commands; `true` if their output contains the text.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["approvals"], true),
    (&["approvals", "deny", "w999"], false),
    (&["audit"], true),
    (&["audit", "verify"], false),
    (&["config", "check"], true),
    (&["doctor"], true),
    (&["link"], false),
    (&["models"], true),
    (&["pair", "list"], true),
    (&["people", "list"], true),
    (&["prompt", "me"], true),
    (&["sessions", "list"], false),
    (&["sessions", "show", "me"], true),
    (&["status"], true),
    (&["usage"], true),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_remove_control_characters_from_their_output() {
    let model = model().await;
    let home = home(&model);
    let mut daemon = home.daemon();
    for (text, wait, shows) in
        [("hello", true, true), ("fail", true, true), ("write", false, false)]
    {
        let mut arguments = vec!["ask", "me", text];
        arguments.extend(wait.then_some("--wait"));
        for more in [&[][..], &["--json"]] {
            let ran = ran(&home, &[&arguments[..], more].concat(), "").await;
            assert_harmless(text, &ran);
            if shows {
                assert_shows(text, &ran);
            }
            if !wait {
                break;
            }
        }
    }
    until("the approval", || home.run(&["approvals"]).out.contains("write_file").then_some(()));
    let chat = ran(&home, &["chat", "--chat", "other"], "hello\nfail\n").await;
    assert_harmless("chat", &chat);
    assert_shows("chat", &chat);
    assert_harmless(
        "the log",
        &ProgramOutput { code: None, out: String::new(), err: logged(&mut daemon) },
    );
    looks_harmless(&home, false).await;
    stop(daemon);
    poison(&home);
    looks_harmless(&home, true).await;
}

/// Runs every command, as text and as JSON, and checks its output.
async fn looks_harmless(home: &Home, poisoned: bool) {
    for (arguments, shows) in COMMANDS {
        for more in [&[][..], &["--json"]] {
            let ran = ran(home, &[arguments, more].concat(), "").await;
            let command = arguments.join(" ");
            assert_harmless(&command, &ran);
            let is_poisoned = ["audit", "pair", "people", "usage"].contains(&arguments[0]);
            // Some commands have no `--json`.
            if *shows && (poisoned || !is_poisoned) && ran.code != Some(2) {
                assert_shows(&command, &ran);
            }
        }
    }
}

/// Returns the daemon's log so far.
fn logged(daemon: &mut avocet_tests::DaemonProcess) -> String {
    daemon.wait_for("the turn failed")
}

#[test]
fn commands_show_no_control_characters_of_arguments_or_file_names() {
    let home = Home::new(program!());
    let file = HOSTILE.replace('/', "");
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join(&file), "x").unwrap();
    let path = home.workspace().join(&file).display().to_string();
    let config = home.path(&file).display().to_string();
    fs::write(home.path(&file), "[a\u{1b}[2J]\n").unwrap();
    let table: [&[&str]; 9] = [
        &["trust", &path],
        &["trust", "--json", &path],
        &["trust", HOSTILE],
        &["send", HOSTILE, "hi"],
        &["send", "nowhere:main:1", HOSTILE],
        &["pair", "approve", HOSTILE],
        &["run", "--log", HOSTILE],
        &["--config", &config, "config", "check"],
        &[HOSTILE],
    ];
    for arguments in table {
        let ran = home.run(arguments);
        assert_harmless(&arguments.join(" "), &ran);
    }
    assert_shows("trust", &home.run(&["trust", &path]));
}
