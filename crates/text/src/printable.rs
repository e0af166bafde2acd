//! Text for a terminal, without characters that move the cursor, change colours or reorder text.

use crate::append::append_text;
use std::borrow::Cow;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::text::keep_visible;

/// Returns the text without control characters, except newline and tab, and without the invisible
/// characters that [`sanitise`](crate::sanitise) removes. Unlike `sanitise` it keeps the
/// normalisation form, so that file names stay as they are. It also removes `\r`, which would let
/// later text cover earlier text.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(keep_visible(text, text.chars().filter(|c| *c != '\r')).0)
}

/// Returns the same JSON with every invisible character written as `\uXXXX`. JSON encoders escape
/// only the control characters below U+0020. A terminal also obeys DEL, U+0080 to U+009F, and
/// bidirectional characters, which reorder text.
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_invisible) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if !is_invisible(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            append_text(&mut escaped, format_args!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(escaped)
}

/// Returns `true` for a character to be escaped. Valid JSON has such characters only in strings.
fn is_invisible(c: char) -> bool {
    match c {
        '\n' | ' '..='~' => false,
        c => c.is_control() || c.general_category() == GeneralCategory::Format,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn printable_removes_terminal_controls_and_keeps_the_rest() {
        let table = [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"),
            ("\u{1b}]0;title\u{7}", "]0;title"),
            ("over\rwritten", "overwritten"),
            ("\u{9b}2Jc1\u{9d}0;x\u{9c}", "2Jc10;x"),
            ("DEL\u{7f} NUL\0 BS\u{8}", "DEL NUL BS"),
            ("\u{202e}gnp.exe\u{2066}", "gnp.exe"),
            ("tag\u{e0041}ged zero\u{200b}width", "tagged zerowidth"),
            ("e\u{301} stays decomposed", "e\u{301} stays decomposed"),
            ("👩\u{200d}🚀 é ü", "👩\u{200d}🚀 é ü"),
        ];
        for (text, expected) in table {
            assert_eq!(printable(text), expected, "{text:?}");
        }
    }

    #[test]
    fn printable_json_escapes_invisible_characters_and_keeps_the_value() {
        let table = [
            ("{\n  \"a\": \"plain é\"\n}", "{\n  \"a\": \"plain é\"\n}"),
            ("\"\u{9b}2J\u{7f}\u{85}\"", "\"\\u009b2J\\u007f\\u0085\""),
            ("\"\u{202e}x\u{e0041}\"", "\"\\u202ex\\udb40\\udc41\""),
        ];
        for (json, expected) in table {
            assert_eq!(printable_json(json), expected, "{json:?}");
        }
    }

    proptest! {
        #[test]
        fn printable_json_parses_to_the_same_value(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let escaped = printable_json(&json);
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
            prop_assert!(!escaped.chars().any(char::is_control));
        }

        #[test]
        fn printable_leaves_no_control_character_and_is_idempotent(text in any::<String>()) {
            let once = printable(&text).into_owned();
            prop_assert!(once.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')));
            prop_assert_eq!(printable(&once), once.as_str());
        }
    }
}
