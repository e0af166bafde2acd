use proptest::prelude::*;

use super::*;
use crate::testing::assert_valid;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(Styled::plain(text).tidy().text, expected);
}

#[test]
fn tidy_removes_invisible_white_space() {
    check("", "");
    check(" \n a \n", "a");
    check("a  \nb", "a\nb");
    check("a\n\n\n\nb", "a\n\nb");
    check("a \n \n \n  b", "a\n\n  b");
    check("a  b", "a  b");
}

#[test]
fn tidy_keeps_white_space_in_code() {
    let style = Style::Pre { language: None };
    let styled = Styled {
        text: "  \n  a \n\n\n b \n\n c".to_owned(),
        styles: vec![StyleRange::new(3..12, style.clone())],
    };
    let tidy = styled.tidy();
    assert_eq!(tidy.text, "  a \n\n\n b\n\n c");
    assert_eq!(tidy.styles, [StyleRange::new(0..9, style)]);
}

#[test]
fn tidy_moves_ranges_off_white_space() {
    let styles = vec![StyleRange::new(0..7, Style::Bold), StyleRange::new(2..3, Style::Italic)];
    let tidy = Styled { text: " a  \n b c".to_owned(), styles }.tidy();
    assert_eq!(tidy.text, "a\n b c");
    assert_eq!(tidy.styles, [StyleRange::new(0..4, Style::Bold)]);
}

#[test]
fn styled_deserialises_from_its_own_json() {
    let style = Style::Link { url: "http://x.org".to_owned() };
    let styled = Styled { text: "ab".to_owned(), styles: vec![StyleRange::new(0..2, style)] };
    let json = serde_json::to_string(&styled).unwrap();
    assert_eq!(serde_json::from_str::<Styled>(&json).unwrap(), styled);
}

proptest! {
    #[test]
    fn tidy_is_idempotent(
        text in "[ab \n\t]{0,20}",
        (start, end) in (0usize..21, 0usize..21),
    ) {
        let (start, end) = (start.min(text.len()), end.min(text.len()));
        let range = StyleRange::new(start.min(end)..end, Style::Bold);
        let once = Styled { text, styles: vec![range] }.tidy();
        assert_valid(&once);
        prop_assert_eq!(once.clone().tidy(), once);
    }
}
