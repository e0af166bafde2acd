use avocet_protocol::channel::CommandHelp;

use super::*;

fn text(text: &str) -> Key {
    Key::Text(text.to_owned())
}

/// Presses keys. Returns the text with a bar at the cursor.
fn pressed(line: &mut InputLine, keys: &[Key]) -> String {
    for key in keys {
        line.press_key(key);
    }
    format!("{}|{}", line.before_cursor(), &line.text()[line.before_cursor().len()..])
}

#[test]
fn press_edits_the_line() {
    use Key::{
        Backspace, Delete, End, Home, KillToEnd, KillToStart, KillWord, Left, NewLine, Right,
        WordLeft, WordRight, Yank,
    };
    let table: [(&[Key], &str); 12] = [
        (&[text("ab"), Left, text("c")], "ac|b"),
        (&[text("e\u{301}x"), Left, Left, Delete], "|x"),
        (&[text("日本"), Backspace], "日|"),
        (&[text("one two"), WordLeft, KillWord], "|two"),
        (&[text("one two"), Home, WordRight], "one| two"),
        (&[text("one two"), Home, KillToEnd, text("x"), Yank], "xone two|"),
        (&[text("one two"), Left, KillToStart], "|o"),
        (&[text("a"), NewLine, text("bc"), Home], "a\n|bc"),
        (&[text("ab\ncd"), Key::Up], "ab|\ncd"),
        (&[text("ab\nc"), Key::Up, Home, Key::Down, End], "ab\nc|"),
        (&[Left, Right, Backspace, Delete, KillWord, Key::Up, Key::Down], "|"),
        (&[text("ab"), Key::EndOfInput, Left, Key::EndOfInput], "a|"),
    ];
    for (keys, expected) in table {
        assert_eq!(pressed(&mut InputLine::default(), keys), expected, "{keys:?}");
    }
}

#[test]
fn press_returns_the_effect_on_the_program() {
    let mut line = InputLine::default();
    pressed(&mut line, &[text("a"), Key::NewLine, text("b")]);
    assert_eq!(line.press_key(&Key::Enter), LineEffect::Line("a\nb".to_owned()));
    assert_eq!(line.text(), "");
    assert_eq!(line.press_key(&Key::Interrupt), LineEffect::Interrupt);
    assert_eq!(line.press_key(&Key::Escape), LineEffect::Escape);
    assert_eq!(line.press_key(&Key::EndOfInput), LineEffect::End);
}

fn with_history(lines: &[&str]) -> InputLine {
    let directory = tempfile::tempdir().unwrap();
    let mut history = LineHistory::open(directory.path().join("history"), 9);
    lines.iter().for_each(|line| history.add_line(line));
    InputLine::new(history, Completer::default())
}

#[test]
fn up_and_down_walk_through_the_history_and_keep_the_draft() {
    let mut line = with_history(&["one", "two"]);
    assert_eq!(pressed(&mut line, &[text("dra"), Key::Up]), "two|");
    assert_eq!(pressed(&mut line, &[Key::Up, Key::Up]), "one|");
    assert_eq!(pressed(&mut line, &[Key::Down, Key::Down, Key::Down]), "dra|");
}

#[test]
fn search_finds_older_lines_with_the_words() {
    let mut line = with_history(&["make test", "ls", "cargo test"]);
    assert_eq!(pressed(&mut line, &[Key::Search, text("te"), text("st")]), "cargo test|");
    assert_eq!(line.search().unwrap().words, "test");
    assert_eq!(pressed(&mut line, &[Key::Search]), "make test|");
    assert_eq!(pressed(&mut line, &[Key::Search]), "make test|");
    assert_eq!(line.press_key(&Key::Enter), LineEffect::Line("make test".to_owned()));
    assert!(line.search().is_none());
}

#[test]
fn tab_completes_and_walks_through_the_candidates() {
    let help = |name| CommandHelp::new(name, "", "");
    let completer = Completer::new(["status", "stop", "think"].map(help), None);
    let mut line = InputLine::new(LineHistory::default(), completer);
    assert_eq!(pressed(&mut line, &[text("/th"), Key::Tab]), "/think |");
    line.clear();
    assert_eq!(pressed(&mut line, &[text("/st"), Key::Tab]), "/st|");
    assert_eq!(line.menu().unwrap().candidates.len(), 2);
    assert_eq!(pressed(&mut line, &[Key::Tab]), "/status|");
    assert_eq!(pressed(&mut line, &[Key::Tab, Key::Tab, Key::BackTab]), "/stop|");
    assert_eq!(line.press_key(&Key::Escape), LineEffect::Edited);
    assert_eq!(line.press_key(&Key::Escape), LineEffect::Escape);
    assert_eq!(pressed(&mut line, &[Key::KillWord, text("no"), Key::Tab]), "no|");
}
