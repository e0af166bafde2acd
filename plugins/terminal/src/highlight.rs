//! Highlights code: comments, texts, numbers and keywords, by the family of the language. It reads
//! line by line, so that code can be shown while it is written.

mod languages;

use crate::styled::{PaletteColour, ScreenRow, TextStyle};
use languages::{LanguageSyntax, find_language};

const COMMENT: TextStyle = TextStyle::with_colour(PaletteColour::Grey);
const TEXT: TextStyle = TextStyle::with_colour(PaletteColour::Green);
const KEYWORD: TextStyle = TextStyle::with_colour(PaletteColour::Magenta);
const NUMBER: TextStyle = TextStyle::with_colour(PaletteColour::Cyan);
const TYPE: TextStyle = TextStyle::with_colour(PaletteColour::Yellow);

/// The state between two lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum OpenSyntax {
    #[default]
    Nothing,
    /// A comment of several lines; contains its end.
    Comment(&'static str),
    /// A text of several lines; contains its end.
    Text(&'static str),
}

/// Highlights the lines of one block of code, in order.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter {
    language: Option<&'static LanguageSyntax>,
    is_diff: bool,
    open: OpenSyntax,
}

impl Highlighter {
    /// A highlighter for the language that is named behind a fence. Other code stays plain.
    pub(crate) fn new(name: &str) -> Self {
        let word = name.split(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | ':')).next();
        let name = word.unwrap_or_default().to_ascii_lowercase();
        let is_diff = matches!(name.as_str(), "diff" | "patch");
        Self { language: find_language(&name), is_diff, open: OpenSyntax::Nothing }
    }

    /// Highlights the next line, given without its line break.
    pub(crate) fn highlight_line(&mut self, line: &str) -> ScreenRow {
        if self.is_diff {
            return ScreenRow::with_text(line, diff_style(line));
        }
        let Some(language) = self.language else {
            return ScreenRow::with_text(line, TextStyle::PLAIN);
        };
        let (mut row, mut rest) = (ScreenRow::default(), line);
        while !rest.is_empty() {
            let (length, style) = self.next_token(language, rest, rest.len() == line.len());
            let (token, more) = rest.split_at(length);
            row.push(token, style);
            rest = more;
        }
        row
    }

    /// Returns the length in bytes and the style of the token at the beginning of `rest`.
    fn next_token(
        &mut self,
        language: &LanguageSyntax,
        rest: &str,
        is_line: bool,
    ) -> (usize, TextStyle) {
        match self.open {
            OpenSyntax::Comment(end) => return (self.find_end(rest, 0, end), COMMENT),
            OpenSyntax::Text(end) => return (self.find_end(rest, 0, end), TEXT),
            OpenSyntax::Nothing => {}
        }
        if language.comments.iter().any(|start| rest.starts_with(start)) {
            return (rest.len(), COMMENT);
        }
        if let Some((start, end)) = starts_comment(language.blocks, rest) {
            self.open = OpenSyntax::Comment(end);
            return (self.find_end(rest, start.len(), end), COMMENT);
        }
        if let Some((start, end)) = starts_comment(language.long_texts, rest) {
            self.open = OpenSyntax::Text(end);
            return (self.find_end(rest, start.len(), end), TEXT);
        }
        let first = rest.chars().next().unwrap_or_default();
        if language.quotes.contains(first)
            && let Some(length) = quoted_length(rest, first)
        {
            return (length, TEXT);
        }
        if first.is_ascii_digit() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
            return (part_length(rest, is_part), NUMBER);
        }
        if is_name(first) {
            return word_token(language, rest, is_line);
        }
        (first.len_utf8(), TextStyle::PLAIN)
    }

    /// Returns the length up to and including `end`. If `end` is missing, the next line continues.
    fn find_end(&mut self, rest: &str, from: usize, end: &str) -> usize {
        match rest[from..].find(end) {
            Some(at) => {
                self.open = OpenSyntax::Nothing;
                from + at + end.len()
            }
            None => rest.len(),
        }
    }
}

fn starts_comment(
    pairs: &[(&'static str, &'static str)],
    rest: &str,
) -> Option<(&'static str, &'static str)> {
    pairs.iter().find(|(start, _)| rest.starts_with(start)).copied()
}

fn word_token(language: &LanguageSyntax, rest: &str, is_line: bool) -> (usize, TextStyle) {
    let length = part_length(rest, is_name);
    let word = &rest[..length];
    let is_keyword = if language.ignores_case {
        language.keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
    } else {
        language.keywords.contains(&word)
    };
    let is_key = language.keys && is_line && rest[length..].trim_start().starts_with([':', '=']);
    let style = if is_keyword {
        KEYWORD
    } else if is_key || (language.types && word.starts_with(|c: char| c.is_ascii_uppercase())) {
        TYPE
    } else {
        TextStyle::PLAIN
    };
    (length, style)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn part_length(rest: &str, is_part: impl Fn(char) -> bool) -> usize {
    rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())
}

/// Returns the length of a text in quotes; `None` if this line has no end of it, as for an
/// apostrophe or a lifetime.
fn quoted_length(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if c == quote {
            return Some(at + c.len_utf8());
        }
    }
    None
}

fn diff_style(line: &str) -> TextStyle {
    match line.as_bytes().first() {
        Some(b'+') => TextStyle::with_colour(PaletteColour::Green),
        Some(b'-') => TextStyle::with_colour(PaletteColour::Red),
        Some(b'@') => TextStyle::with_colour(PaletteColour::Cyan),
        _ => TextStyle::PLAIN,
    }
}

#[cfg(test)]
#[path = "highlight_tests.rs"]
mod tests;
