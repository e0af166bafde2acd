use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::turn::{CallResult, CallState, LoggedCall};
use serde_json::json;

use super::*;
use crate::key::Key;
use crate::line::LineEffect;
use crate::testing::TerminalEmulator;

fn screen(rows: u16, columns: u16, look: Look) -> (LiveScreen, TerminalEmulator) {
    let emulator = TerminalEmulator::new(rows, columns);
    (LiveScreen::new(emulator.parts(look)), emulator)
}

fn press(live: &mut LiveScreen, text: &str) {
    live.press_key(&Key::Text(text.to_owned()));
}

#[test]
fn stream_scrolls_finished_blocks_away_and_prints_nothing_twice() {
    for (rows, columns) in [(8, 20), (5, 30), (24, 80)] {
        let (mut live, emulator) = screen(rows, columns, Look::Styled);
        live.show_remark("hello");
        let text: String =
            (0..40).map(|n| format!("Paragraph {n}\n\n- item a{n}\n- item b{n}\n\n")).collect();
        for piece in text.split_inclusive(' ') {
            live.stream_answer(piece);
            live.paint_changes();
        }
        live.end_stream();
        live.paint_changes();
        let expected: String =
            (0..40).map(|n| format!("Paragraph {n}\n\n• item a{n}\n• item b{n}\n\n")).collect();
        assert_eq!(emulator.all(), format!("hello\n\n{expected}>"), "{rows} x {columns}");
    }
}

#[test]
fn typed_text_stays_below_the_answer() {
    let (mut live, emulator) = screen(12, 30, Look::Styled);
    live.show_typed_line("first", false);
    press(&mut live, "second");
    live.stream_answer("One **tw");
    live.set_activity(Some("writing … 1 s".to_owned()));
    live.set_status("a/b");
    live.paint_changes();
    assert_eq!(emulator.shown(), "> first\n\nOne **tw\n\nwriting … 1 s\n\n> second\n  a/b");
    assert_eq!(emulator.cursor(), (6, 8));
    assert_eq!(live.press_key(&Key::Enter), LineEffect::Line("second".to_owned()));
    live.show_typed_line("second", true);
    live.stream_answer("o**");
    live.paint_changes();
    assert_eq!(emulator.shown(), "> first\n\nOne two\n\nwriting … 1 s\n> second\n\n>\n  a/b");
    live.end_stream();
    live.release_waiting();
    live.set_activity(None);
    live.paint_changes();
    assert_eq!(emulator.shown(), "> first\n\nOne two\n\n> second\n\n>\n  a/b");
}

#[test]
fn text_in_the_middle_of_an_answer_goes_above_its_open_block() {
    let (mut live, emulator) = screen(20, 40, Look::Styled);
    live.stream_answer("One\n\nTwo is");
    live.show_typed_line("/status", false);
    live.show_text("I am *well*.");
    live.stream_answer(" open");
    live.end_stream();
    live.paint_changes();
    let expected = "One\n\n> /status\n\nI am well.\n\nTwo is open\n\n>";
    assert_eq!(emulator.shown(), expected);
}

#[test]
fn tool_lines_show_their_argument_and_time_in_place() {
    let (mut live, emulator) = screen(12, 30, Look::Styled);
    live.show_typed_line("go", false);
    live.tool_started("shell", Some("ls\u{1b}[2J -l"), None);
    live.tool_started("shell", Some("cargo test --workspace --all-targets"), None);
    live.set_time(Duration::from_millis(3_200));
    live.tool_ended("shell", None, false);
    live.paint_changes();
    let shown = "> go\n\n✗ shell  ls[2J -l  3.2 s\n• shell  cargo test --w…  3 s\n\n>";
    assert_eq!(emulator.shown(), shown);
    live.set_time(Duration::from_secs(75));
    live.tool_ended("shell", None, true);
    live.stream_answer("Done.");
    live.paint_changes();
    let shown = "> go\n\n✗ shell  ls[2J -l  3.2 s\n✓ shell  cargo t…  1 min 15 s\n\nDone.\n\n>";
    assert_eq!(emulator.shown(), shown);
}

#[test]
fn tool_line_shows_its_progress_until_its_end() {
    let (mut live, emulator) = screen(12, 40, Look::Styled);
    live.tool_started("shell", Some("ls"), None);
    live.tool_progress("other", "lost");
    live.tool_progress("shell", "2 of\n 3\u{1b}[2J");
    live.paint_changes();
    assert_eq!(emulator.shown(), "• shell  ls  2 of 3[2J  0 s\n>");
    live.tool_ended("shell", None, true);
    live.end_tools();
    live.paint_changes();
    assert_eq!(emulator.shown(), "✓ shell  ls  0.0 s\n\n>");
}

#[test]
fn tool_started_shows_a_result_that_was_read_before_its_event() {
    let (mut live, emulator) = screen(12, 40, Look::Styled);
    let id = |ordinal| CallId { turn: TurnId(1), step: 0, ordinal };
    for (ordinal, ok) in [(0, true), (1, false)] {
        let arguments = Arguments::Object(json!({ "path": "a" }).as_object().unwrap().clone());
        let call = ToolCall { name: "read_file".to_owned(), arguments };
        let result = if ok { CallResult::ok(json!("one\ntwo")) } else { CallResult::error("gone") };
        let state = CallState::Finished(result);
        let logged = LoggedCall { id: id(ordinal), call, state, allowed: None };
        live.show_report(CallReport::from_logged(&logged).unwrap(), true);
    }
    for (ordinal, ok) in [(0, true), (1, false)] {
        live.tool_started("read_file", Some("a"), Some(id(ordinal)));
        live.tool_ended("read_file", Some(id(ordinal)), ok);
    }
    live.end_tools();
    live.paint_changes();
    let shown = "✓ read_file  a  2 lines  0.0 s\n✗ read_file  a  0.0 s\n  gone\n\n>";
    assert_eq!(emulator.shown(), shown);
}

#[test]
fn end_tools_marks_a_tool_without_an_end() {
    let (mut live, emulator) = screen(12, 40, Look::Styled);
    live.tool_started("ask_user", Some("Which colour?"), None);
    live.tool_progress("ask_user", "waiting");
    live.end_tools();
    live.paint_changes();
    assert_eq!(emulator.shown(), "◦ ask_user  Which colour?\n\n>");
}

#[test]
fn release_moves_only_the_lines_of_these_messages_up() {
    let (mut live, emulator) = screen(12, 40, Look::Styled);
    for (line, message) in [("one", 1), ("two", 2)] {
        live.show_typed_line(line, true);
        live.note_sent(line, MessageId(message));
    }
    live.show_typed_line("two", true);
    live.release_lines(&[MessageId(2), MessageId(3)]);
    live.paint_changes();
    assert_eq!(emulator.shown(), "> two\n\n> one\n> two\n\n>");
}

#[test]
fn take_back_puts_a_line_into_an_empty_input() {
    let (mut live, emulator) = screen(12, 40, Look::Styled);
    live.show_typed_line("one", true);
    live.show_typed_line("two", true);
    live.take_back("one");
    live.take_back("two");
    live.paint_changes();
    assert_eq!(emulator.shown(), "> one");
}

#[test]
fn input_wraps_grows_and_keeps_the_cursor_visible() {
    let (mut live, emulator) = screen(9, 12, Look::Styled);
    press(&mut live, "日本語abcdefg");
    live.press_key(&Key::NewLine);
    press(&mut live, "x");
    live.paint_changes();
    assert_eq!(emulator.shown(), "> 日本語abc\n  defg\n  x");
    assert_eq!(emulator.cursor(), (2, 3));
    press(&mut live, "\n1\n2\n3");
    live.paint_changes();
    assert_eq!(emulator.shown(), "  1\n  2\n  3");
    live.press_key(&Key::KillToStart);
    live.clear_line();
    live.paint_changes();
    assert_eq!((emulator.shown().as_str(), emulator.cursor()), (">", (0, 2)));
}

#[test]
fn menu_takes_the_place_of_the_status() {
    let (mut live, emulator) = screen(9, 30, Look::Styled);
    live.set_status("a/b");
    press(&mut live, "/st");
    live.press_key(&Key::Tab);
    live.press_key(&Key::Tab);
    live.paint_changes();
    assert_eq!(emulator.shown(), "> /status\n› /status  do it\n  /stop    do it");
    press(&mut live, " ");
    live.paint_changes();
    assert_eq!(emulator.shown(), "> /status\n  a/b");
}

#[test]
fn paint_after_a_resize_uses_the_new_width() {
    let (mut live, emulator) = screen(12, 40, Look::Styled);
    live.show_typed_line("go", false);
    live.stream_answer("One two three four five six seven");
    live.paint_changes();
    emulator.resize(12, 60);
    live.stream_answer(" eight nine ten");
    live.paint_changes();
    let shown = "> go\n\nOne two three four five six seven eight nine ten\n\n>";
    assert_eq!(emulator.shown(), shown);
}

/// The rows above the live region stay, on a terminal that cuts its rows and on one that breaks
/// them.
#[test]
fn paint_after_the_terminal_has_become_narrower_keeps_the_rows_above() {
    for reflows in [false, true] {
        let emulator = TerminalEmulator::new(24, 60);
        let parts = LiveParts { reflows, ..emulator.parts(Look::Styled) };
        let mut live = LiveScreen::new(parts);
        live.show_remark("first");
        live.show_remark("second");
        live.show_typed_line("go", false);
        live.stream_answer("One two three four five six seven eight nine");
        live.set_status("a/b, 12 tokens, 3 answers of this session");
        press(&mut live, "a typed line that is not sent");
        live.paint_changes();
        if reflows {
            emulator.reflow(20);
        } else {
            emulator.resize(24, 20);
        }
        live.stream_answer(" ten");
        live.paint_changes();
        let shown = "first\nsecond\n\n> go\n\nOne two three four\nfive six seven\neight nine ten\n\n\
             > a typed line that\n   is not sent\n  a/b, 12 tokens, …";
        assert_eq!(emulator.shown(), shown, "reflows: {reflows}");
    }
}

#[test]
fn paint_writes_nothing_if_nothing_has_changed() {
    let (mut live, emulator) = screen(12, 40, Look::Plain);
    live.show_remark("hello");
    live.paint_changes();
    emulator.clone().write_all(b"\x1b[H!").unwrap();
    live.paint_changes();
    assert_eq!(emulator.shown(), "!ello\n\n>");
}

#[test]
fn plain_look_paints_no_attributes() {
    let (mut live, emulator) = screen(20, 40, Look::Plain);
    live.show_remark("hello");
    live.show_typed_line("go", false);
    live.tool_started("shell", None, None);
    live.stream_answer("# Title\n\n**bold** `code`");
    live.paint_changes();
    let expected = "hello\n\n> go\n\n◦ shell\n\n# Title\n\n**bold** `code`\n\n>";
    assert_eq!(emulator.shown(), expected);
    let attributes = emulator.attributes();
    assert!(attributes.is_empty(), "{attributes:?}");
}

#[test]
fn hostile_text_reaches_the_terminal_without_control_characters() {
    const HOSTILE: &str = "a\u{1b}[2Jb\u{9b}2Jc\rd\u{202e}e\u{7}";
    let (mut live, emulator) = screen(30, 60, Look::Styled);
    live.set_status(HOSTILE);
    live.set_activity(Some(HOSTILE.to_owned()));
    live.show_remark(HOSTILE);
    live.show_typed_line(HOSTILE, false);
    live.show_typed_line(HOSTILE, true);
    live.show_text(HOSTILE);
    live.show_past_answer(HOSTILE);
    live.tool_started(HOSTILE, Some(HOSTILE), None);
    live.stream_answer(&format!("{HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n"));
    live.paint_changes();
    let shown = emulator.shown();
    assert_eq!(shown.matches("a[2Jb2Jcde").count(), 11, "{shown}");
}
