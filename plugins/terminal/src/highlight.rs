//! Highlights code: comments, texts, numbers and keywords, by the family of the language. It reads
//! line by line, so that code can be shown while it is written.

mod languages;

use crate::styled::{Colour, ScreenRow, Style};
use languages::{Language, find};

const COMMENT: Style = Style::of(Colour::Grey);
const TEXT: Style = Style::of(Colour::Green);
const KEYWORD: Style = Style::of(Colour::Magenta);
const NUMBER: Style = Style::of(Colour::Cyan);
const TYPE: Style = Style::of(Colour::Yellow);

/// The state between two lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Open {
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
    language: Option<&'static Language>,
    is_diff: bool,
    open: Open,
}

impl Highlighter {
    /// A highlighter for the language that is named behind a fence. Other code stays plain.
    pub(crate) fn new(name: &str) -> Self {
        let word = name.split(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | ':')).next();
        let name = word.unwrap_or_default().to_ascii_lowercase();
        let is_diff = matches!(name.as_str(), "diff" | "patch");
        Self { language: find(&name), is_diff, open: Open::Nothing }
    }

    /// Highlights the next line, given without its line break.
    pub(crate) fn line(&mut self, line: &str) -> ScreenRow {
        if self.is_diff {
            return ScreenRow::of(line, diff(line));
        }
        let Some(language) = self.language else { return ScreenRow::of(line, Style::PLAIN) };
        let (mut row, mut rest) = (ScreenRow::default(), line);
        while !rest.is_empty() {
            let (length, style) = self.token(language, rest, rest.len() == line.len());
            let (token, more) = rest.split_at(length);
            row.push(token, style);
            rest = more;
        }
        row
    }

    /// Returns the length in bytes and the style of the token at the beginning of `rest`.
    fn token(&mut self, language: &Language, rest: &str, is_line: bool) -> (usize, Style) {
        match self.open {
            Open::Comment(end) => return (self.until(rest, 0, end), COMMENT),
            Open::Text(end) => return (self.until(rest, 0, end), TEXT),
            Open::Nothing => {}
        }
        if language.comments.iter().any(|start| rest.starts_with(start)) {
            return (rest.len(), COMMENT);
        }
        if let Some((start, end)) = starts(language.blocks, rest) {
            self.open = Open::Comment(end);
            return (self.until(rest, start.len(), end), COMMENT);
        }
        if let Some((start, end)) = starts(language.long_texts, rest) {
            self.open = Open::Text(end);
            return (self.until(rest, start.len(), end), TEXT);
        }
        let first = rest.chars().next().unwrap_or_default();
        if language.quotes.contains(first)
            && let Some(length) = quoted(rest, first)
        {
            return (length, TEXT);
        }
        if first.is_ascii_digit() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
            return (length(rest, is_part), NUMBER);
        }
        if is_name(first) {
            return word(language, rest, is_line);
        }
        (first.len_utf8(), Style::PLAIN)
    }

    /// Returns the length up to and including `end`. If `end` is missing, the next line continues.
    fn until(&mut self, rest: &str, from: usize, end: &str) -> usize {
        match rest[from..].find(end) {
            Some(at) => {
                self.open = Open::Nothing;
                from + at + end.len()
            }
            None => rest.len(),
        }
    }
}

fn starts(
    pairs: &[(&'static str, &'static str)],
    rest: &str,
) -> Option<(&'static str, &'static str)> {
    pairs.iter().find(|(start, _)| rest.starts_with(start)).copied()
}

fn word(language: &Language, rest: &str, is_line: bool) -> (usize, Style) {
    let length = length(rest, is_name);
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
        Style::PLAIN
    };
    (length, style)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn length(rest: &str, is_part: impl Fn(char) -> bool) -> usize {
    rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())
}

/// Returns the length of a text in quotes; `None` if this line has no end of it, as for an
/// apostrophe or a lifetime.
fn quoted(rest: &str, quote: char) -> Option<usize> {
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

fn diff(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => Style::of(Colour::Green),
        Some(b'-') => Style::of(Colour::Red),
        Some(b'@') => Style::of(Colour::Cyan),
        _ => Style::PLAIN,
    }
}

#[cfg(test)]
#[path = "highlight_tests.rs"]
mod tests;
