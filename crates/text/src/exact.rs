//! Texts as a person has to see them who decides about exactly these characters: nothing is invisible, and
//! letters that look like others are pointed out.

use std::borrow::Cow;

use unicode_script::{Script, UnicodeScript};

use crate::append::append_text;
use crate::main_argument::in_one_line;
use crate::text::visit_visible;

/// Scripts with letters that look like those of another one of them (Unicode TR 39).
const ALIKE: [(Script, &str); 6] = [
    (Script::Latin, "Latin"),
    (Script::Cyrillic, "Cyrillic"),
    (Script::Greek, "Greek"),
    (Script::Armenian, "Armenian"),
    (Script::Cherokee, "Cherokee"),
    (Script::Coptic, "Coptic"),
];
/// Characters of a word that is pointed out.
const WORD_CHARS: usize = 40;

/// A word whose letters come from several scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedWord {
    /// The word with what is around it, up to white space, in one line.
    pub word: String,
    /// The names of two scripts: `Latin`, `Cyrillic`.
    pub scripts: [&'static str; 2],
}

/// Writes each character that [`sanitise`](crate::sanitise) removes as an escape: `\u{e0078}`. A carriage
/// return is written so, too, because it can cover text. The rest stays as it is.
#[must_use]
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    visit_visible(text, text.chars(), |c, is_visible| {
        if is_visible && c != '\r' {
            escaped.push(c);
        } else {
            append_text(&mut escaped, format_args!("\\u{{{:x}}}", u32::from(c)));
        }
    });
    Cow::Owned(escaped)
}

/// Finds words that mix letters of scripts that look alike: `pаypal.com` with a Cyrillic `а`.
pub fn find_mixed_words(text: &str) -> impl Iterator<Item = MixedWord> {
    text.split_whitespace().filter_map(|whole| {
        let mut words = whole.split(|c: char| !c.is_alphabetic());
        let scripts = words.find_map(mixed_scripts)?;
        Some(MixedWord { word: in_one_line(whole, WORD_CHARS), scripts })
    })
}

/// Returns the first two scripts of a word that mixes scripts that look alike.
fn mixed_scripts(word: &str) -> Option<[&'static str; 2]> {
    if word.is_ascii() {
        return None;
    }
    let scripts = word.chars().filter_map(|c| {
        let script = c.script();
        ALIKE.iter().find(|(known, _)| *known == script).map(|(_, name)| *name)
    });
    let mut scripts = scripts.peekable();
    let first = *scripts.peek()?;
    scripts.find(|name| *name != first).map(|second| [first, second])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sanitise;

    #[test]
    fn escape_invisible_shows_what_sanitising_removes() {
        let table = [
            ("rm -r build\n\tall", "rm -r build\n\tall"),
            ("rm\u{e0020}\u{e0078} x", "rm\\u{e0020}\\u{e0078} x"),
            ("a\u{202e}b\u{200b}\u{1b}[2J", "a\\u{202e}b\\u{200b}\\u{1b}[2J"),
            ("safe\rrm x", "safe\\u{d}rm x"),
            ("e\u{301} é 👩\u{200d}🚀", "e\u{301} é 👩\u{200d}🚀"),
        ];
        for (text, expected) in table {
            assert_eq!(escape_invisible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn find_mixed_words_finds_letters_that_look_like_others() {
        let found = |text: &str| -> Vec<(String, [&str; 2])> {
            find_mixed_words(text).map(|one| (one.word, one.scripts)).collect()
        };
        let mixed = "https://p\u{430}ypal.com/x";
        assert_eq!(
            found(&format!("curl {mixed} now")),
            [(mixed.to_owned(), ["Latin", "Cyrillic"])]
        );
        assert_eq!(found("\u{3b1}lpha")[0].1, ["Greek", "Latin"]);
        let plain = [
            "curl https://paypal.com",
            "привет, мир: rm файл.txt",
            "カタカナとひらがなと漢字とLatin",
            "Ελληνικά και English",
            "naïve Straße 5µm",
        ];
        for text in plain {
            assert_eq!(found(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn escape_invisible_leaves_nothing_to_remove(text in any::<String>()) {
            prop_assert_eq!(sanitise(&escape_invisible(&text)).removed, 0);
        }
    }
}
