//! Tests of `avocet chat` at a terminal: a pseudo terminal with an emulator whose cells are
//! compared.

mod conversations;
mod lost;
mod messages;
mod pictures;
pub(crate) mod pty;
mod rendering;
mod tools;
mod typing;

use std::fs;

use avocet_tests::{Home, program};
use pty::{Terminal, TerminalOptions};

use crate::support::said_in;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const ESCAPE: &str = "\u{1b}";

#[test]
fn terminal_shows_progress_and_the_answer_once() {
    let home = Home::new(program!());
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join("a.txt"), "good morning").unwrap();
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.wait_for("/help shows the commands, Tab completes, Ctrl-D leaves.");
    terminal.press("read_file a.txt\r");
    terminal.wait_for_idle("good morning");
    let all = terminal.all();
    assert_eq!(all.matches("✓ read_file  a.txt  1 line  N s").count(), 1, "{all}");
    assert_eq!(all.matches("good morning").count(), 1, "{all}");
    assert_eq!(all.matches(" says: ").count(), 0, "{all}");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    assert_eq!(said_in(&home, "me"), ["read_file a.txt"]);
}

#[test]
fn terminal_shows_an_answer_while_it_streams() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 5\r");
    terminal.wait_until("a part", |shown| shown.contains("1, 2") && !shown.contains("5."));
    terminal.wait_for_idle("1, 2, 3, 4, 5.");
    let all = terminal.all();
    assert_eq!(all.matches("5.").count(), 1, "{all}");
    assert_eq!(terminal.leave("/quit\r"), Some(0));
}

#[test]
fn ctrl_c_stops_an_answer_and_keeps_the_chat_open() {
    for key in [CTRL_C, ESCAPE] {
        let home = Home::new(program!());
        let mut terminal = Terminal::open(&home);
        terminal.wait_for_prompt();
        terminal.press("count to 1000\r");
        terminal.wait_for("1, 2");
        terminal.press(key);
        terminal.wait_for_idle("Stopped.");
        // The counted numbers stay, with one mark.
        let all = terminal.all();
        assert_eq!(
            (all.matches("1, 2").count(), all.matches("… (stopped)").count()),
            (1, 1),
            "{all}"
        );
        terminal.press("count to 1\r");
        terminal.wait_for_idle("\n1.");
        assert_eq!(terminal.leave(CTRL_D), Some(0));
        assert_eq!(said_in(&home, "me"), ["count to 1000", "count to 1"]);
    }
}

#[test]
fn terminal_accepts_commands_while_an_answer_streams() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 1000\r");
    terminal.wait_for("1, 2");
    terminal.press("/stop\r");
    terminal.wait_for_idle("Stopped.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[test]
fn terminal_takes_a_plain_yes_as_an_approval() {
    let home = Home::new(program!()).with_config("[tools.policy]\nwrite_file = \"ask\"\n");
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("write_file a.txt hello\r");
    terminal.wait_for("/approve w1");
    terminal.wait_for("y or 1 takes the first, n or ");
    terminal.press("count to 3\r");
    terminal.wait_for("I am waiting for an answer to my question above");
    terminal.press(CTRL_C);
    terminal.wait_for("/stop ends the turn");
    terminal.press("yes\r");
    terminal.wait_for_idle("1, 2, 3.");
    assert_eq!(fs::read_to_string(home.workspace().join("a.txt")).unwrap(), "hello");
    let all = terminal.all();
    assert!(all.contains("Allowed.") && all.contains("✓ write_file  a.txt"), "{all}");
    assert_eq!(all.matches(" says: ").count(), 0, "{all}");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[test]
fn ctrl_c_removes_the_typed_text_then_explains_then_leaves() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("half a li");
    terminal.wait_for("> half a li");
    terminal.press(CTRL_C);
    terminal.wait_until("an empty line", |shown| !shown.contains("half"));
    terminal.press(CTRL_C);
    terminal.wait_for("Ctrl-C again, Ctrl-D or /quit leaves.");
    terminal.press("/stop\r");
    terminal.wait_for("There was nothing to stop.");
    assert_eq!(terminal.leave("\u{3}\u{3}"), Some(0));
}

#[test]
fn terminal_without_cursor_movement_gets_plain_lines() {
    let home = Home::new(program!());
    let mut terminal = TerminalOptions::new(&home).with_variable("TERM", "dumb").open();
    terminal.wait_for("Ctrl-D leaves.");
    terminal.press("count to 2\n");
    terminal.wait_for("1, 2.");
    assert!(!terminal.written.contains(&0x1b), "{}", terminal.all());
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[test]
fn terminal_shows_the_last_exchange_of_the_named_session() {
    let home = Home::new(program!());
    let open = || TerminalOptions::new(&home).with_arguments(&["--session", "work"]).open();
    let mut terminal = open();
    terminal.wait_for_prompt();
    terminal.press("count to 3\r");
    terminal.wait_for_idle("1, 2, 3.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    let mut terminal = open();
    terminal.wait_for("> count to 3\n\n1, 2, 3.\n\n>");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    // A message is sent only once the last exchange is known.
    terminal.press("/stop\r");
    terminal.wait_for("There was nothing to stop.");
    assert!(!terminal.all().contains("count"), "another session has another past");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}
