//! Sanitising of text from outside: invisible text must not reach the model.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// A text after sanitising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitised {
    /// The text in normalisation form C.
    pub text: String,
    /// Number of removed characters.
    pub removed: usize,
}

/// Ends a text with a full stop, unless it ends a sentence already: the words of a provider or of
/// the system often do.
#[must_use]
pub fn end_sentence(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    let last = text.trim_end_matches(['"', '\'', '`', '”', '’']).chars().next_back();
    if !last.is_some_and(|c| ".!?…。".contains(c)) {
        text.push('.');
    }
    text
}

/// Removes invisible characters, and brings the rest into NFC. Idempotent. Removed are:
///
/// - control characters except `\n`, `\r` and `\t`;
/// - bidirectional embeddings, overrides and isolates;
/// - Unicode tag characters, and variation selectors that select nothing;
/// - zero-width characters outside emoji and joining scripts.
#[must_use]
pub fn sanitise(text: &str) -> Sanitised {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')) {
        return Sanitised { text: text.to_owned(), removed: 0 };
    }
    let (kept, removed) = keep_visible(text, text.nfc());
    Sanitised { text: kept.nfc().collect(), removed }
}

/// Returns the visible characters and the number of removed ones. `chars` are those of `text`.
pub(crate) fn keep_visible(text: &str, chars: impl Iterator<Item = char>) -> (String, usize) {
    let mut kept = String::with_capacity(text.len());
    let mut removed = 0;
    visit_visible(text, chars, |c, is_visible| {
        if is_visible {
            kept.push(c);
        } else {
            removed += 1;
        }
    });
    (kept, removed)
}

/// Calls `visit` with each character, and with `true` if it is visible. `chars` are those of `text`.
pub(crate) fn visit_visible(
    text: &str,
    chars: impl Iterator<Item = char>,
    mut visit: impl FnMut(char, bool),
) {
    let mut before =
        Before { right_to_left: text.chars().any(is_right_to_left), ..Before::default() };
    let mut chars = chars.peekable();
    while let Some(c) = chars.next() {
        let is_visible = before.allows(c, chars.peek().copied());
        visit(c, is_visible);
        if is_visible {
            before.push(c);
        }
    }
}

/// Cuts every text in a JSON value that is longer than `most` bytes, and adds the number of missing
/// bytes.
pub fn cut_texts(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            let end = text.floor_char_boundary(most);
            let rest = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("… ({rest} more bytes)"));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut_texts(value, most)),
        Value::Object(object) => object.values_mut().for_each(|value| cut_texts(value, most)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The context before a character, as far as the decision about the character needs it.
#[derive(Default)]
struct Before {
    right_to_left: bool,
    last: Option<char>,
    last_base: Option<char>,
}

impl Before {
    fn push(&mut self, c: char) {
        self.last = Some(c);
        // NFC may reorder combining marks, so decisions must be independent of them.
        if !is_variation_selector(c) && canonical_combining_class(c) == 0 {
            self.last_base = Some(c);
        }
    }

    fn allows(&self, c: char, next: Option<char>) -> bool {
        const JOINERS: [Option<char>; 2] = [Some('\u{200C}'), Some('\u{200D}')];
        let joins_script = || {
            !JOINERS.contains(&self.last)
                && (self.last_base.is_some_and(is_joining) || next.is_some_and(is_joining))
        };
        let joins_emoji = || self.last_base.is_some_and(is_emoji) && next.is_some_and(is_emoji);
        match c {
            '\n' | '\r' | '\t' => true,
            '\u{200C}' => joins_script(),
            '\u{200D}' => joins_emoji() || joins_script(),
            // Left-to-right, right-to-left and Arabic letter mark: useful only beside right-to-left
            // letters.
            '\u{200E}' | '\u{200F}' | '\u{061C}' => self.right_to_left,
            '\u{E0000}'..='\u{E007F}' => false,
            '\u{FE00}'..='\u{FE0F}' => self.last.is_some_and(can_be_varied),
            '\u{E0100}'..='\u{E01EF}' => self.last.is_some_and(|base| base.script() == Script::Han),
            // Signs that are written around digits, and hieroglyph quadrats: visible, although
            // their category is "format".
            '\u{0600}'..='\u{0605}'
            | '\u{06DD}'
            | '\u{070F}'
            | '\u{0890}'..='\u{0891}'
            | '\u{08E2}'
            | '\u{110BD}'
            | '\u{110CD}'
            | '\u{13430}'..='\u{1343F}' => true,
            c => !c.is_control() && c.general_category() != GeneralCategory::Format,
        }
    }
}

fn is_emoji(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Each visible character can have one selector; a run of selectors carries hidden data.
fn can_be_varied(base: char) -> bool {
    !is_variation_selector(base) && !base.is_whitespace()
}

/// Letters of scripts whose spelling needs U+200C and U+200D (Unicode standard, 23.2).
fn is_joining(c: char) -> bool {
    c.general_category() != GeneralCategory::Format
        && canonical_combining_class(c) == 0
        && matches!(
            c.script(),
            Script::Adlam
                | Script::Arabic
                | Script::Bengali
                | Script::Chakma
                | Script::Devanagari
                | Script::Grantha
                | Script::Gujarati
                | Script::Gurmukhi
                | Script::Hanifi_Rohingya
                | Script::Kannada
                | Script::Khmer
                | Script::Malayalam
                | Script::Mandaic
                | Script::Manichaean
                | Script::Meetei_Mayek
                | Script::Mongolian
                | Script::Myanmar
                | Script::Nko
                | Script::Oriya
                | Script::Phags_Pa
                | Script::Psalter_Pahlavi
                | Script::Sinhala
                | Script::Sogdian
                | Script::Syriac
                | Script::Tamil
                | Script::Telugu
                | Script::Thaana
                | Script::Tibetan
        )
}

fn is_right_to_left(c: char) -> bool {
    matches!(
        c.script(),
        Script::Adlam
            | Script::Arabic
            | Script::Hanifi_Rohingya
            | Script::Hebrew
            | Script::Mandaic
            | Script::Manichaean
            | Script::Nko
            | Script::Samaritan
            | Script::Syriac
            | Script::Thaana
    )
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
