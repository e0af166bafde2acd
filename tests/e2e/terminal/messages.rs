//! Tests of long messages, pictures, and the call for a person who looks elsewhere.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};

use super::CTRL_D;
use super::pty::{Terminal, TerminalOptions};

const CTRL_G: &str = "\u{7}";
const CTRL_X_CTRL_E: &str = "\u{18}\u{5}";
const FOCUS_IN: &str = "\u{1b}[I";
const FOCUS_OUT: &str = "\u{1b}[O";
const BELL: &[u8] = b"\x07";
const JPEG: [u8; 4] = [0xff, 0xd8, 0xff, 0xe0];

/// A home whose model sees pictures and says one word. The home needs the fake.
async fn seeing() -> (Home, OpenAiFake) {
    let fake = OpenAiFake::start_with_eyes(|_| ModelAnswer::says("Seen.")).await;
    let home = Home::new(program!()).with_config(&format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n[providers.fake]\nkind = \"openai\"\nimages = true\n\
         base_url = \"{}\"\n[agents.defaults]\nmodel = \"fake/large\"\n",
        fake.base_url()
    ));
    (home, fake)
}

#[tokio::test(flavor = "multi_thread")]
async fn long_paste_is_one_line_on_the_screen_and_is_sent_whole() {
    let (home, fake) = seeing().await;
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    let rows: String = (1..=500).map(|n| format!("row {n}\n")).collect();
    terminal.press("See ");
    terminal.wait_for("> See");
    terminal.press(&format!("\u{1b}[200~{rows}\u{1b}[201~"));
    terminal.wait_for("> See [500 lines pasted]");
    terminal.press("!\r");
    terminal.wait_for_idle("Seen.");
    let all = terminal.all();
    assert_eq!(all.matches("> See [500 lines pasted]!").count(), 1, "{all}");
    assert!(!all.contains("row 250"), "{all}");
    assert_eq!(last_user_text(&fake.requests()[0]), format!("See {rows}!"));
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn editor_changes_the_typed_text_and_sends_nothing() {
    let (home, fake) = seeing().await;
    let open = TerminalOptions::new(&home).with_variable("EDITOR", "sed -i s/short/long/");
    let mut terminal = open.open();
    terminal.wait_for_prompt();
    terminal.press(&format!("a short text{CTRL_G}"));
    terminal.wait_for("> a long text");
    terminal.press(&format!(", no short one{CTRL_X_CTRL_E}"));
    terminal.wait_for("> a long text, no long one");
    assert_eq!(fake.requests().len(), 0);
    terminal.press("\r");
    terminal.wait_for_idle("Seen.");
    assert_eq!(last_user_text(&fake.requests()[0]), "a long text, no long one");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
    let left = fs::read_dir(home.data_dir()).unwrap().filter_map(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("message-")), "{left:?}");
}

#[test]
fn editor_that_is_not_set_is_named() {
    let home = Home::new(program!());
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press(&format!("text{CTRL_G}"));
    terminal.wait_for("no editor is set; set $VISUAL or $EDITOR to its command");
    terminal.press(" stays");
    terminal.wait_for("> text stays");
    assert_eq!(terminal.leave(&format!("\u{15}{CTRL_D}")), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn picture_that_a_message_names_reaches_the_model() {
    let (home, fake) = seeing().await;
    fs::write(home.path("cat.jpg"), JPEG).unwrap();
    let mut terminal = Terminal::open(&home);
    terminal.wait_for_prompt();
    terminal.press(&format!("{} what is it?\r", home.path("cat.jpg").display()));
    terminal.wait_for_idle("Seen.");
    let all = terminal.all();
    assert!(all.contains("with the picture cat.jpg (4 bytes)"), "{all}");
    let request = fake.requests()[0].to_string();
    assert!(request.contains("data:image/jpeg;base64,/9j/4A=="), "{request}");
    assert!(last_user_text(&fake.requests()[0]).starts_with("cat.jpg what is it?"), "{request}");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_rings_only_while_another_window_has_the_focus() {
    let (home, _fake) = seeing().await;
    let mut terminal = TerminalOptions::new(&home).size(100, 60).open();
    terminal.wait_for_prompt();
    // The answer to a command comes after all earlier answers.
    let wait_for_id = |terminal: &mut Terminal, count| {
        terminal.press("/id\r");
        terminal.wait_until("the id", |shown| shown.matches("terminal:local:me").count() >= count);
    };
    terminal.press("one\r");
    terminal.wait_for_idle("Seen.");
    wait_for_id(&mut terminal, 1);
    terminal.press(&format!("{FOCUS_OUT}two\r"));
    terminal.wait_for_written(BELL);
    terminal.press(&format!("{FOCUS_IN}three\r"));
    terminal.wait_until("three answers", |shown| shown.matches("Seen.").count() == 3);
    let ids = terminal.shown().matches("terminal:local:me").count();
    wait_for_id(&mut terminal, ids + 1);
    let rung = terminal.written.iter().filter(|byte| **byte == BELL[0]).count();
    assert_eq!(rung, 1, "{}", terminal.all());
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_is_a_notification_in_a_terminal_that_has_them() {
    let (home, _fake) = seeing().await;
    let mut terminal = TerminalOptions::new(&home).with_variable("TERM", "xterm-kitty").open();
    terminal.wait_for_prompt();
    terminal.press(&format!("{FOCUS_OUT}one\r"));
    terminal.wait_for_written(b"\x1b]9;Avocet has answered\x07");
    terminal.wait_for_idle("Seen.");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}
