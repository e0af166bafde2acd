//! Tests of a chat whose daemon goes away.

use avocet_tests::{Home, program};

use super::CTRL_D;
use super::pty::{Terminal, TerminalOptions};
use crate::support::{said_in, stop};

const LOST: &str = "The connection to the daemon was lost. Reconnecting.";

#[test]
fn terminal_without_its_daemon_says_so_and_names_unsent_lines_when_left() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mut terminal = Terminal::open(&home);
    terminal.wait_for("joined the daemon");
    terminal.press("count to 1\r");
    terminal.wait_for_idle("\n1.");
    daemon.kill();
    // Nothing is typed before.
    terminal.wait_for(LOST);
    terminal.press("remember the milk\r/status\r");
    terminal.wait_for("> remember the milk\n> /status");
    let (code, all) = terminal.leave_and_read(CTRL_D);
    assert_eq!(code, Some(1), "{all}");
    let (_, after) = all.split_once(LOST).unwrap();
    let reason = "the connection to the daemon was lost";
    let named =
        format!("not sent: \"remember the milk\": {reason}\nnot sent: \"/status\": {reason}");
    assert_eq!(after.trim(), named);
}

#[test]
fn terminal_sends_lines_typed_without_a_daemon_once_it_is_back() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let mut terminal = Terminal::open(&home);
    terminal.wait_for("joined the daemon");
    daemon.kill();
    terminal.wait_for(LOST);
    terminal.press("count to 2\rcount to 3\r");
    terminal.wait_for("> count to 2\n> count to 3");
    let daemon = home.daemon();
    terminal.wait_for("The daemon is back.");
    terminal.wait_for_idle("1, 2, 3.");
    let (code, all) = terminal.leave_and_read(CTRL_D);
    assert_eq!(code, Some(0), "{all}");
    assert_eq!(all.matches("> count to 2").count(), 1, "{all}");
    assert_eq!(said_in(&home, "me"), ["count to 2", "count to 3"]);
    stop(daemon);
}

#[test]
fn chat_ends_when_its_terminal_is_gone_and_no_signal_comes() {
    let home = Home::new(program!());
    let mut terminal = TerminalOptions::new(&home).without_hang_up_signal().open();
    terminal.wait_for_prompt();
    terminal.press("count to 2\r");
    terminal.wait_for_idle("1, 2.");
    assert_eq!(terminal.close_window(), Some(0));
    assert_eq!(said_in(&home, "me"), ["count to 2"]);
}
