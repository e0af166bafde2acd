use std::sync::{Arc, Mutex};

use super::*;

/// The rows of a terminal above the line that is being edited.
#[derive(Clone, Default)]
struct Rows(Arc<Mutex<Vec<String>>>);

impl Above for Rows {
    fn print(&mut self, text: String) -> io::Result<()> {
        let rows = &mut *self.0.lock().unwrap();
        let mut text = text.as_str();
        while let Some(rest) = text.strip_prefix(ERASE_ABOVE) {
            rows.pop().unwrap();
            text = rest;
        }
        assert!(text.ends_with('\n'), "{text:?}");
        rows.extend(text[..text.len() - 1].split('\n').map(str::to_owned));
        Ok(())
    }

    fn columns(&self) -> usize {
        11
    }
}

fn screen() -> (Screen, Rows) {
    let rows = Rows::default();
    (Screen::new(Box::new(io::sink()), Some(Box::new(rows.clone())), Dimming::Off), rows)
}

impl Rows {
    fn shown(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn stream_extends_the_row_above_the_edited_line() {
    let (mut screen, rows) = screen();
    screen.status("thinking … 0 s");
    screen.status("thinking … 0 s");
    screen.stream("one ");
    assert_eq!(rows.shown(), ["one "]);
    screen.stream("two three four\n\nfi");
    screen.status("not in the middle of a text");
    screen.stream("ve");
    screen.end_line();
    screen.line("the end");
    assert_eq!(rows.shown(), ["one two ", "three four", "", "five", "the end"]);
}

#[test]
fn status_is_replaced_by_the_next_text_unless_a_line_was_typed() {
    let (mut screen, rows) = screen();
    screen.status("a");
    screen.status("b");
    screen.end_line();
    screen.remark("said");
    assert_eq!(rows.shown(), ["said"]);
    screen.status("c");
    screen.line_was_typed();
    screen.stream("d");
    screen.line_was_typed();
    screen.stream("e");
    assert_eq!(rows.shown(), ["said", "c", "d", "e"]);
}

#[test]
fn rows_wrap_below_the_width_of_the_terminal() {
    let table = [
        ("", vec![""]),
        ("1234567890", vec!["1234567890"]),
        ("12345678901", vec!["1234567890", "1"]),
        ("ab cdefghijklm", vec!["ab cdefghi", "jklm"]),
        ("日本語日本語", vec!["日本語日本", "語"]),
    ];
    for (text, expected) in table {
        assert_eq!(rows(text, 11), expected, "{text}");
    }
    assert_eq!(rows("日本", 1), ["日", "本"]);
}

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn screen_removes_control_characters_from_all_text() {
    const HOSTILE: &str = "a\u{1b}[2Jb\u{9b}2Jc\rd\u{202e}e";
    const LEFT: &str = "a[2Jb2Jcde";
    for dimming in [Dimming::Off, Dimming::On] {
        let paper = Paper::default();
        let mut screen = Screen::new(Box::new(paper.clone()), None, dimming);
        screen.status(HOSTILE);
        screen.stream(HOSTILE);
        screen.line(HOSTILE);
        screen.remark(HOSTILE);
        let shown = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert_eq!(shown.matches(LEFT).count(), 4, "{shown:?}");
        let own = ["\u{1b}[2m", "\u{1b}[0m", "\r\u{1b}[2K"];
        let foreign = own.iter().fold(shown, |shown, own| shown.replace(own, ""));
        assert!(!foreign.contains(['\u{1b}', '\u{9b}', '\r', '\u{202e}']), "{foreign:?}");
    }
}
