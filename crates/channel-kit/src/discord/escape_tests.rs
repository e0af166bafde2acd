use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let mut out = String::new();
    push(&mut out, text, TextPosition { at_line_start: true, in_link: false });
    assert_eq!(out, expected);
}

#[test]
fn push_escapes_more_at_the_start_of_a_line() {
    check("# a # b", "\\# a # b");
    check("  - a - b", "\u{a0}\u{a0}\\- a - b");
    check("\ta", "\u{a0}\u{a0}\u{a0}\u{a0}a");
    check("12. a 13. b", "12\\. a 13. b");
    check("12 a", "12 a");
    check("=== a", "\\=== a");
    let mut out = String::new();
    push(&mut out, "# a", TextPosition { at_line_start: false, in_link: false });
    assert_eq!(out, "# a");
}

#[test]
fn push_puts_addresses_in_brackets_without_trailing_punctuation() {
    check("http://x.org.", "<http://x.org>.");
    check("http://x.org/a_b*c~", "<http://x.org/a_b*c>\\~");
    check("http://x.org/(a) (http://x.org/b)", "<http://x.org/(a)> (<http://x.org/b>)");
    check("http:// https://x", "http:// <https://x>");
    check("hello", "hello");
    let mut out = String::new();
    push(&mut out, "http://x.org/a_b", TextPosition { at_line_start: false, in_link: true });
    assert_eq!(out, "http://x.org/a\\_b");
}
