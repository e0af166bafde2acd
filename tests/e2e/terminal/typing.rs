//! Tests of the input line: completion, several lines, history, typing ahead.

use std::fs;

use avocet_testkit::openai::last_user_text;
use avocet_tests::{Home, program};

use super::pty::Terminal;
use super::rendering::{AnswerHarness, assert_screen};
use super::{CTRL_C, CTRL_D, ESCAPE};
use crate::support::{said_in, stop};

const TAB: &str = "\t";
const ALT_ENTER: &str = "\u{1b}\r";
const UP: &str = "\u{1b}[A";

#[test]
fn tab_completes_commands_and_files() {
    let home = Home::new(program!());
    fs::create_dir_all(home.workspace().join("src")).unwrap();
    for name in ["src/lib.rs", "src/list.rs", "notes.md"] {
        fs::write(home.workspace().join(name), "x").unwrap();
    }
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("/st");
    terminal.press(TAB);
    terminal.wait_for("stop the current work");
    assert_screen!("terminal_completion", terminal.shown());
    terminal.press(TAB);
    terminal.wait_for("> /status");
    terminal.press(ESCAPE);
    terminal.wait_until("no menu", |shown| !shown.contains("stop the current work"));
    terminal.press(CTRL_C);
    terminal.press("see @sr\tli\t");
    terminal.wait_for("> see @src/li\n  @src/lib.rs\n  @src/list.rs");
    terminal.press("b\t");
    terminal.wait_until("a file", |shown| shown.contains("> see @src/lib.rs\n  offline"));
    terminal.press(CTRL_C);
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_lines_are_pasted_or_typed_and_sent_as_one_message() {
    let harness = AnswerHarness::new().await;
    let mut terminal = Terminal::open(&harness.home);
    terminal.wait_for_prompt();
    terminal.press("\u{1b}[200~first\r\n\tsecond\rthird\u{1b}[201~");
    terminal.wait_for("> first\n      second\n  third");
    terminal.press(ALT_ENTER);
    terminal.press("fourth");
    terminal.wait_for("  third\n  fourth");
    assert_screen!("terminal_paste", terminal.shown());
    terminal.press("\r");
    terminal.wait_for("// panics");
    let requests = harness.fake.requests();
    assert_eq!(last_user_text(&requests[0]), "first\n\tsecond\nthird\nfourth");
    assert_eq!(requests.len(), 2);
    harness.go_on();
    terminal.wait_for_idle("tokens");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn typing_ahead_stays_below_the_answer() {
    let harness = AnswerHarness::new().await;
    let mut terminal = harness.ask(80);
    terminal.press("and then?\rhalf a qu");
    terminal.wait_for("> half a qu");
    assert_screen!("terminal_typing_ahead", terminal.shown());
    harness.go_on();
    harness.go_on();
    // The status line may show the tokens of both answers before the second one is on the screen.
    terminal.wait_until("the second answer", |shown| {
        let (_, second) = shown.split_once("> and then?").unwrap_or_default();
        second.contains("合計") && second.contains("2.4k tokens") && !second.contains(" … ")
    });
    let all = terminal.all();
    let after = all.split("合計").nth(1).unwrap();
    assert!(after.contains("> and then?"), "{all}");
    assert_eq!(all.matches("> and then?").count(), 1, "{all}");
    assert_eq!(all.matches("// panics\n      lines.iter()").count(), 2, "{all}");
    assert_eq!(terminal.leave("\u{15}\u{4}"), Some(0));
}

#[test]
fn history_survives_a_restart_and_escape_interrupts() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 1000\r");
    terminal.wait_for("1, 2");
    terminal.press(ESCAPE);
    terminal.wait_for_idle("Stopped.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press(UP);
    terminal.wait_until("the line", |shown| shown.contains("\n> count to 1000\n  offline"));
    terminal.press("\u{15}count to 1\r");
    terminal.wait_for_idle("\n1.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    assert_eq!(said_in(&home, "me"), ["count to 1000", "count to 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn status_line_shows_the_model_of_the_conversation_also_after_joining() {
    let harness = AnswerHarness::new().await;
    let daemon = harness.home.daemon();
    let mut terminal = Terminal::open(&harness.home);
    terminal.wait_for("\n  fake/large");
    terminal.press("/model fake/small\r");
    terminal.wait_for("\n  fake/small");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    let mut terminal = Terminal::open(&harness.home);
    terminal.wait_for(", fake/small, joined the daemon");
    terminal.wait_for("\n  fake/small");
    terminal.press("/model default\r");
    terminal.wait_for("\n  fake/large");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    stop(daemon);
}
