//! Tests of the rows below tools: output, changes of files, refusals, and the list of everything.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results};
use avocet_testkit::{SystemPart, skip_without};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use super::CTRL_D;
use super::pty::{Terminal, TerminalOptions};
use super::rendering::assert_screen;
use crate::support::stop;

const CTRL_O: &str = "\u{f}";
const HOME_KEY: &str = "\u{1b}[H";

/// A home whose model calls these tools in one step and then says that it is done. The home needs
/// the fake.
async fn calling(calls: Vec<(&'static str, Value)>) -> (Home, OpenAiFake) {
    let calls: Vec<(String, Value)> =
        calls.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
    let fake = OpenAiFake::start(move |request: &Value| match last_results(request).len() {
        0 => ModelAnswer::Calls(calls.clone()),
        _ => ModelAnswer::says("All is done."),
    })
    .await;
    let home = Home::new(program!()).with_config(&format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
         [agents.defaults]\nmodel = \"fake/large\"\n[tools.policy]\ndelete_file = \"deny\"\n",
        fake.base_url()
    ));
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join("notes.md"), "one\ntwo\nthree\n").unwrap();
    (home, fake)
}

/// Waits for the end of the answer, and for its tokens in the status line.
fn wait_for_end(terminal: &mut Terminal) {
    terminal.wait_until("the end", |shown| {
        shown.contains("All is done.\n\n>") && shown.contains("tokens")
    });
}

fn changes() -> Vec<(&'static str, Value)> {
    let rows: String = (1..=30).map(|n| format!("row {n}\u{1b}[2J\n")).collect();
    vec![
        (
            "edit_file",
            json!({ "path": "notes.md", "find": "one\ntwo\n", "replace": "one\nzwei\n\tdrei\n" }),
        ),
        ("delete_file", json!({ "path": "notes.md" })),
        ("read_file", json!({ "path": "notes.md" })),
        ("write_file", json!({ "path": "new.txt", "content": rows })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_shows_changes_counts_and_refusals_and_ctrl_o_shows_all() {
    let (home, _fake) = calling(changes()).await;
    let mut terminal = TerminalOptions::new(&home).size(80, 40).open();
    terminal.wait_for_prompt();
    terminal.press(&format!("{CTRL_O}go\r"));
    terminal.wait_for("No tool has run in this chat yet.");
    wait_for_end(&mut terminal);
    assert_screen!("terminal_tools", terminal.cells());
    terminal.press(CTRL_O);
    terminal.wait_for("q or Ctrl-O closes");
    let shown = terminal.shown();
    assert!(shown.contains("row 30[2J") && !shown.contains("All is done."), "{shown}");
    terminal.press(HOME_KEY);
    terminal.wait_until("the first tool", |shown| shown.starts_with("✓ edit_file  notes.md"));
    terminal.press("q");
    terminal.wait_for("All is done.");
    let all = terminal.all();
    for (text, count) in [("All is done.", 1), ("row 10[2J", 1), ("row 11[2J", 0)] {
        assert_eq!(all.matches(text).count(), count, "{text}: {all}");
    }
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_without_colour_shows_changes_by_their_signs() {
    let (home, _fake) = calling(changes()).await;
    let open = TerminalOptions::new(&home).with_variable("NO_COLOR", "1").size(80, 40);
    let mut terminal = open.open();
    terminal.wait_for_prompt();
    terminal.press("go\r");
    wait_for_end(&mut terminal);
    let cells = terminal.cells();
    assert!(cells.contains("  - two\n  + zwei\n") && !cells.contains('{'), "{cells}");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_shows_the_output_and_the_exit_code_of_a_command() {
    let command = "i=1; while [ $i -le 9 ]; do echo row $i; i=$((i+1)); done; exit 3";
    let (home, _fake) = calling(vec![("exec_shell", json!({ "command": command }))]).await;
    let mut daemon = home.daemon();
    if daemon.logged("exec_shell is off") > 0 {
        skip_without(SystemPart::ProgramSandbox);
        return stop(daemon);
    }
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    wait_for_end(&mut terminal);
    let cells = terminal.cells();
    assert!(cells.contains("{1:✗ }{b:exec_shell}"), "{cells}");
    assert!(cells.contains("{1:  exit code 3}"), "{cells}");
    let rows = "  row 2\n  … 4 more lines (Ctrl-O shows all)\n  row 7\n";
    assert!(terminal.shown().contains(rows), "{cells}");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_draws_a_picture_that_the_agent_sends_if_it_can() {
    let sent = json!({ "text": "Look:", "files": ["a.png"] });
    let (home, _fake) = calling(vec![("message", sent)]).await;
    let header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x14\0\0\0\x14";
    fs::write(home.workspace().join("a.png"), header).unwrap();
    for (kind, is_drawn) in [("xterm-256color", false), ("xterm-kitty", true)] {
        let mut terminal = TerminalOptions::new(&home).with_variable("TERM", kind).open();
        terminal.wait_for_prompt();
        terminal.press("go\r");
        terminal.wait_for("in the workspace: a.png]");
        wait_for_end(&mut terminal);
        assert_eq!(terminal.has_written(b"\x1b_Ga=T,f=100,q=2,C=1,c=2,r=1"), is_drawn, "{kind}");
        assert_eq!(terminal.leave(CTRL_D), Some(0));
    }
}
