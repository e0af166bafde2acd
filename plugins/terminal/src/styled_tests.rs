use super::*;

fn wrapped(text: &str, columns: usize, breaks: LineBreaks) -> Vec<String> {
    let rows = wrap_spans(&[StyledSpan::new(text, TextStyle::PLAIN)], columns, breaks);
    rows.iter().map(|row| row.paint_row(Look::Plain)).collect()
}

#[test]
fn wrap_breaks_between_words_and_wide_characters() {
    let table: [(&str, &[&str]); 11] = [
        ("", &[""]),
        ("1234567890", &["1234567890"]),
        ("12345678901", &["1234567890", "1"]),
        ("one two three", &["one two ", "three"]),
        ("exactly te end", &["exactly te", "end"]),
        ("ab cdefghijklm", &["ab ", "cdefghijkl", "m"]),
        ("日本語日本語", &["日本語日本", "語"]),
        ("日本語日本。", &["日本語日", "本。"]),
        ("a\n\nb", &["a", "", "b"]),
        ("👍🏽👍🏽👍🏽", &["👍🏽👍🏽", "👍🏽"]),
        ("e\u{301}e\u{301}", &["e\u{301}e\u{301}"]),
    ];
    for (text, expected) in table {
        assert_eq!(wrapped(text, 10, LineBreaks::Words), expected, "{text}");
    }
    assert_eq!(wrapped("日本", 1, LineBreaks::Words), ["日", "本"]);
    assert_eq!(wrapped("let a = 1;", 4, LineBreaks::Anywhere), ["let ", "a = ", "1;"]);
}

#[test]
fn wrap_keeps_every_row_within_the_columns() {
    let text = "Ein längerer Satz mit 日本語, 👨‍👩‍👧 und sehr_langen_namen_ohne_ende.";
    for columns in 2..40 {
        for row in wrapped(text, columns, LineBreaks::Words) {
            assert!(width(&row) <= columns || row.graphemes(true).count() == 1, "{row:?}");
        }
    }
}

#[test]
fn width_takes_the_larger_answer_for_joined_emoji() {
    let table = [("abc", 3), ("日", 2), ("e\u{301}", 1), ("👨‍👩‍👧", 6), ("❤️", 2), ("", 0)];
    for (text, expected) in table {
        assert_eq!(width(text), expected, "{text}");
    }
}

#[test]
fn row_paints_its_attributes_unless_the_look_is_plain() {
    let mut row = ScreenRow::with_text("a", TextStyle::BOLD);
    row.push("b", TextStyle { underline: true, ..TextStyle::with_colour(PaletteColour::Cyan) });
    row.push("c", TextStyle::PLAIN);
    assert_eq!(row.paint_row(Look::Styled), "\u{1b}[1ma\u{1b}[0m\u{1b}[4;36mb\u{1b}[0mc");
    assert_eq!(row.paint_row(Look::Plain), "abc");
    assert_eq!(
        ScreenRow::with_text("日本語", TextStyle::DIM).cut(5).paint_row(Look::Plain),
        "日本…"
    );
    assert_eq!(ScreenRow::with_text("ab", TextStyle::DIM).cut(2).paint_row(Look::Plain), "ab");
}

#[test]
fn painted_removes_control_characters_of_a_text() {
    let row = ScreenRow::with_text("a\u{1b}[2J\n\t\u{9b}1m\u{202e}b", TextStyle::BOLD);
    assert_eq!(row.paint_row(Look::Plain), "a[2J1mb");
    assert_eq!(row.paint_row(Look::Styled), "\u{1b}[1ma[2J1mb\u{1b}[0m");
}
