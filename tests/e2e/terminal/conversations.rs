//! Tests of several conversations in one terminal.

use avocet_tests::{Home, program};

use super::pty::{Terminal, TerminalOptions};
use super::{CTRL_D, ESCAPE};
use crate::support::said_in;

#[test]
fn resume_opens_another_conversation_and_shows_its_last_exchange() {
    let home = Home::new(program!());
    let mut terminal = TerminalOptions::new(&home).with_arguments(&["--session", "work"]).open();
    terminal.wait_for_prompt();
    terminal.press("/sessions\r");
    terminal.wait_for("There is no other conversation yet.");
    terminal.press("count to 3\r");
    terminal.wait_for_idle("1, 2, 3.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));

    let mut terminal = TerminalOptions::new(&home).size(100, 60).open();
    terminal.wait_for("Other conversations: work. /resume opens one.");
    terminal.press("count to 2\r");
    terminal.wait_for_idle("1, 2.");
    terminal.press("/resume\r");
    terminal.wait_for("  1  work  ");
    terminal.wait_for("1 turn: count to 3");
    terminal.press("/resume nothing\r");
    terminal.wait_for("There is no conversation \"nothing\"; /sessions lists them.");
    terminal.press("/resume 1\r");
    terminal.wait_for("This is the conversation work.\n\n> count to 3\n\n1, 2, 3.\n\n>");
    terminal.press("count to 4\r");
    terminal.wait_for_idle("1, 2, 3, 4.");
    terminal.press("/resume me\r");
    terminal.wait_for("This is the conversation me.\n\n> count to 2\n\n1, 2.\n\n>");
    terminal.press("count to 5\r");
    terminal.wait_for_idle("1, 2, 3, 4, 5.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    assert_eq!(said_in(&home, "work"), ["count to 3", "count to 4"]);
    assert_eq!(said_in(&home, "me"), ["count to 2", "count to 5"]);
}

#[test]
fn escape_twice_offers_earlier_messages_and_branches_before_the_chosen_one() {
    let home = Home::new(program!());
    let mut terminal = TerminalOptions::new(&home).size(100, 60).open();
    terminal.wait_for_prompt();
    for (message, answer) in
        [("count to 2", "1, 2."), ("count to 3", "1, 2, 3."), ("count to 4", "3, 4.")]
    {
        terminal.press(&format!("{message}\r"));
        terminal.wait_for_idle(answer);
    }
    terminal.press(ESCAPE);
    terminal.wait_for("Esc again: say an earlier message differently");
    terminal.press(ESCAPE);
    terminal.wait_for("› /rewind 1  count to 4\n  /rewind 2  count to 3\n  /rewind 3  count to 2");
    terminal.press("\u{1b}[B");
    terminal.wait_for("› /rewind 2  count to 3");
    terminal.press("\r");
    terminal.wait_for(
        "This is the conversation me-2.\n\
         The conversation before it stays as it is; /sessions lists it.\n\n\
         > count to 2\n\n1, 2.\n\n> count to 3",
    );
    terminal.press("\u{7f}5\r");
    terminal.wait_for_idle("1, 2, 3, 4, 5.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    assert_eq!(said_in(&home, "me"), ["count to 2", "count to 3", "count to 4"]);
    assert_eq!(said_in(&home, "me-2"), ["count to 2", "count to 5"]);
}

#[test]
fn title_names_the_conversation_in_the_list_of_another() {
    let home = Home::new(program!());
    let mut terminal = TerminalOptions::new(&home).with_arguments(&["--session", "work"]).open();
    terminal.wait_for_prompt();
    terminal.press("count to 3\r");
    terminal.wait_for_idle("1, 2, 3.");
    terminal.press("/title\r");
    terminal.wait_for("/title TEXT gives this conversation a title");
    terminal.press("/title The garden\r");
    terminal.wait_for("This conversation is now called \"The garden\".");
    assert_eq!(terminal.leave(CTRL_D), Some(0));

    let mut terminal = TerminalOptions::new(&home).size(100, 60).open();
    terminal.wait_for_prompt();
    terminal.press("/sessions\r");
    terminal.wait_for("1 turn: The garden");
    terminal.press("/rewind\r");
    terminal.wait_for("There is no earlier message in this conversation.");
    terminal.press("/help\r");
    terminal.wait_for("In this terminal also: /quit, /resume, /rewind, /sessions, /title.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[test]
fn conversation_stays_while_an_answer_is_on_its_way() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press("count to 1000\r");
    terminal.wait_for("1, 2");
    terminal.press("/resume work\r");
    terminal.wait_for("An answer is on its way. /stop ends it; then choose another conversation.");
    terminal.press("/stop\r");
    terminal.wait_for_idle("Stopped.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}
