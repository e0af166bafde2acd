//! Extracts the words of a page in one pass and linear time, for error pages and for pages that are
//! too complex for a tree. html5ever's tokenizer compares each attribute of a tag with all before
//! it, so a page that is one tag takes quadratic time.

use html5ever::data::NAMED_ENTITIES;

use super::html::hides_element;

/// Elements with raw, invisible text.
const RAW: [&str; 6] = ["iframe", "noembed", "noframes", "script", "style", "xmp"];
/// Elements that are invisible with all their content.
const UNSEEN: [&str; 7] = ["noscript", "object", "select", "svg", "template", "textarea", "title"];
/// Elements without an end tag.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements within a line.
const INLINE: [&str; 30] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong",
    "sub", "sup", "time", "u",
];

/// The words of a page, and its title.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PlainPage {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Reads HTML without building a tree.
pub(crate) fn plain_page(html: &str) -> PlainPage {
    let mut reader = PlainHtmlReader { rest: html, ..PlainHtmlReader::default() };
    while !reader.rest.is_empty() {
        reader.read_step();
    }
    let mut plain = reader.plain;
    plain.title = plain.title.trim().to_owned();
    plain.text.truncate(plain.text.trim_end().len());
    plain
}

#[derive(Default)]
struct PlainHtmlReader<'h> {
    rest: &'h str,
    plain: PlainPage,
    /// The outermost open invisible element, and the nesting count of its name.
    unseen: Option<(String, usize)>,
}

impl<'h> PlainHtmlReader<'h> {
    fn read_step(&mut self) {
        let Some(at) = self.rest.find('<') else {
            let text = std::mem::take(&mut self.rest);
            return self.push_text(text);
        };
        let (text, markup) = self.rest.split_at(at);
        self.rest = markup;
        self.push_text(text);
        if let Some(comment) = markup.strip_prefix("<!--") {
            self.rest = text_behind(comment, "-->");
        } else if markup.starts_with("<!") || markup.starts_with("<?") {
            self.rest = text_behind(markup, ">");
        } else if let Some(tag) = markup.strip_prefix("</").filter(|tag| is_name(tag)) {
            let (name, _, _) = self.read_tag(tag);
            self.close(&name);
        } else if is_name(&markup[1..]) {
            let (name, attributes, is_closed) = self.read_tag(&markup[1..]);
            self.open(&name, attributes, is_closed);
        } else {
            self.rest = &markup[1..];
            self.push_text("<");
        }
    }

    /// Reads a tag from its name on. Returns its name, its attributes, and `true` if it closes
    /// itself, which only non-HTML elements can do.
    fn read_tag(&mut self, tag: &'h str) -> (String, &'h str, bool) {
        let end = tag.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        let (name, attributes) = tag.split_at(end.unwrap_or(tag.len()));
        let (mut quote, mut is_value) = (None, false);
        let end = attributes.find(|c: char| {
            match (quote, c) {
                (Some(open), c) if open == c => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if is_value => quote = Some(c),
                (None, '>') => return true,
                (None, _) => {}
            }
            // A quote counts only after an equals sign.
            is_value = c == '=' || is_value && c.is_ascii_whitespace();
            false
        });
        let (attributes, rest) = attributes.split_at(end.unwrap_or(attributes.len()));
        self.rest = rest.strip_prefix('>').unwrap_or(rest);
        let name = name.to_ascii_lowercase();
        let is_closed = name == "svg" && attributes.ends_with('/');
        (name, attributes, is_closed)
    }

    fn open(&mut self, name: &str, attributes: &str, is_closed: bool) {
        if let Some((open, count)) = &mut self.unseen {
            *count += usize::from(*open == name && !is_closed);
        } else if name == "title" && self.plain.title.is_empty() {
            let end = find_end(self.rest, "title");
            let (title, rest) = self.rest.split_at(end);
            self.rest = rest;
            push_words(&mut self.plain.title, &decode_entities(title));
        } else if !VOID.contains(&name) && !RAW.contains(&name) {
            let is_dialog = name == "dialog" && find_attribute(attributes, "open").is_none();
            let is_unseen = UNSEEN.contains(&name) && !is_closed;
            if is_unseen || hides_element(is_dialog, &|key| find_attribute(attributes, key)) {
                self.unseen = Some((name.to_owned(), 1));
            }
        }
        self.break_line(name);
        if RAW.contains(&name) {
            self.rest = &self.rest[find_end(self.rest, name)..];
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((open, count)) = &mut self.unseen {
            *count -= usize::from(open == name);
            if *count == 0 {
                self.unseen = None;
            }
        }
        self.break_line(name);
    }

    /// Ends the line where a block begins or ends.
    fn break_line(&mut self, name: &str) {
        let text = &mut self.plain.text;
        if self.unseen.is_none() && !INLINE.contains(&name) && !text.is_empty() {
            text.truncate(text.trim_end_matches(' ').len());
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.unseen.is_none() {
            push_words(&mut self.plain.text, &decode_entities(text));
        }
    }
}

/// The text after the first `end`; empty if there is none.
fn text_behind<'h>(text: &'h str, end: &str) -> &'h str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

fn is_name(tag: &str) -> bool {
    tag.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The offset of the end tag of an element without markup inside.
fn find_end(text: &str, name: &str) -> usize {
    let is_end = |at: &usize| {
        let end = &text.as_bytes()[at + 2..];
        end.len() >= name.len() && end[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    };
    text.match_indices("</").map(|(at, _)| at).find(is_end).unwrap_or(text.len())
}

/// The value of an attribute; empty if it has none.
fn find_attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        // A leading equals sign is part of the name.
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find(is_end).map_or(rest.len(), |at| at + first);
        let (key, behind) = rest.split_at(end);
        let (value, behind) = split_value(behind.trim_ascii_start());
        if key.eq_ignore_ascii_case(name) {
            return Some(decode_entities(value));
        }
        rest = behind;
    }
}

/// The value after an equals sign, and the rest of the text.
fn split_value(text: &str) -> (&str, &str) {
    let Some(value) = text.strip_prefix('=') else { return ("", text) };
    let value = value.trim_ascii_start();
    for quote in ['"', '\''] {
        if let Some(quoted) = value.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    value.split_at(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len()))
}

/// Appends words, with one space where there was any white space.
fn push_words(text: &mut String, more: &str) {
    let follows_space = |text: &str| text.is_empty() || text.ends_with([' ', '\n']);
    for (place, word) in more.split(|c: char| c.is_whitespace()).enumerate() {
        if place > 0 && !follows_space(text) {
            text.push(' ');
        }
        text.push_str(word);
    }
}

/// Decodes the character references that end with a semicolon.
fn decode_entities(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (characters, rest) = decode_reference(part).unwrap_or_else(|| ("&".to_owned(), part));
        out.push_str(&characters);
        out.push_str(rest);
    }
    out
}

/// The characters of a reference without its `&`, and the text behind it.
fn decode_reference(text: &str) -> Option<(String, &str)> {
    let (name, rest) = text.split_at(text.find(';')? + 1);
    let codes = match name.trim_end_matches(';').strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16));
            [code.ok()?, 0]
        }
        None => NAMED_ENTITIES.get(name).map(|(first, second)| [*first, *second])?,
    };
    let characters = codes.into_iter().filter(|code| *code != 0).map(char::from_u32);
    Some((characters.collect::<Option<_>>()?, rest))
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
