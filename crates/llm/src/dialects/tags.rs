//! Parses XML-like tags as models write them. Closing tags may be missing.

use super::lenient::{self, MissingBrackets};
use super::strip_ignoring_case;

/// Tags and attributes that hold a tool's name.
pub(super) const NAMES: [&str; 5] = ["tool", "name", "tool_name", "function", "function_name"];

/// The start of the closing tag of an element.
pub(super) fn close_of(name: &str) -> String {
    format!("</{name}")
}

/// The content of an element up to its closing tag, and the length in bytes including that tag.
/// Without a closing tag, the content ends at the next opening tag of the same name or at the end.
pub(super) fn element_content<'t>(text: &'t str, name: &str) -> (&'t str, usize) {
    let body = text.trim_start();
    let skip =
        match body.starts_with('{').then(|| lenient::parse_value(body, MissingBrackets::Refused)) {
            Some(Ok((_, bytes))) => text.len() - body.len() + bytes,
            _ => 0,
        };
    let close = close_of(name);
    let mut marks = text[skip..].match_indices('<').map(|(at, _)| skip + at);
    let stop = marks.find(|at| {
        let rest = &text[*at..];
        strip_ignoring_case(rest, &close).is_some_and(|rest| !rest.starts_with(is_name))
            || strip_ignoring_case(rest, &close[..1])
                .and_then(|rest| strip_ignoring_case(rest, name))
                .is_some_and(|rest| !rest.starts_with(is_name))
    });
    match stop {
        None => (text, text.len()),
        Some(at) if text[at..].starts_with("</") => {
            let end = text[at..].find('>').map_or(text.len(), |end| at + end + 1);
            (&text[..at], end)
        }
        Some(at) => (&text[..at], at),
    }
}

/// A tag, as models write it.
#[derive(Debug, Default)]
pub(super) struct MarkupTag<'t> {
    /// The name without its prefix.
    pub(super) name: &'t str,
    /// The name as written.
    pub(super) written: &'t str,
    /// The value after an equals sign that follows the name.
    pub(super) value: Option<&'t str>,
    pub(super) attributes: Vec<(&'t str, String)>,
    pub(super) closes: bool,
    pub(super) is_empty: bool,
    pub(super) bytes: usize,
}

impl MarkupTag<'_> {
    /// The name in a tag's value or attribute: `<function=this>`, `<invoke name="this">`.
    pub(super) fn name_in_tag(&self) -> Option<&str> {
        let attribute = || self.attributes.iter().find(|(name, _)| is_one_of(name, &NAMES));
        self.value.or_else(|| attribute().map(|(_, value)| value.as_str()))
    }
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

/// Parses the tag at the start of a text. `None` if the text is something else, `Some(None)` if the
/// tag is incomplete.
pub(super) fn parse_tag(text: &str) -> Option<Option<MarkupTag<'_>>> {
    let inner = text.strip_prefix('<')?;
    let (inner, closes) = match inner.strip_prefix('/') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let (name, mut rest) = inner.split_at(inner.find(|c| !is_name(c)).unwrap_or(inner.len()));
    if name.is_empty() && !rest.is_empty() {
        return None;
    }
    let bare = name.rsplit(':').next().unwrap_or(name);
    let mut tag = MarkupTag { name: bare, written: name, closes, ..MarkupTag::default() };
    if let Some(after) = rest.strip_prefix('=') {
        let Some(end) = after.find(['>', '\n', ' ']) else { return Some(None) };
        tag.value = Some(after[..end].trim_matches(['"', '\'', '/']));
        rest = &after[end..];
    }
    loop {
        rest = rest.trim_start();
        match rest.chars().next() {
            None => return Some(None),
            Some('>') => {
                tag.bytes = text.len() - rest.len() + 1;
                return Some(Some(tag));
            }
            Some('/') => {
                tag.is_empty = true;
                rest = &rest[1..];
            }
            Some(c) if is_name(c) => match parse_attribute(rest)? {
                None => return Some(None),
                Some((name, value, after)) => {
                    tag.attributes.push((name, value));
                    rest = after;
                }
            },
            Some(_) => return None,
        }
    }
}

/// Parses `name="value"`, `name='value'` or `name=value`. Also returns the rest.
fn parse_attribute(text: &str) -> Option<Option<(&str, String, &str)>> {
    let Some(end) = text.find(|c| !is_name(c)) else { return Some(None) };
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    if rest.is_empty() {
        return Some(None);
    }
    let value = rest.strip_prefix('=')?.trim_start();
    let Some(quote) = value.chars().next() else { return Some(None) };
    let (closing, inner) = match quote {
        '"' | '\'' => (quote, &value[1..]),
        '“' | '”' => ('”', &value[quote.len_utf8()..]),
        _ => {
            let Some(end) = value.find(['>', ' ', '\n', '/']) else { return Some(None) };
            return Some(Some((name, value[..end].to_owned(), &value[end..])));
        }
    };
    let Some(end) = inner.find(closing) else { return Some(None) };
    Some(Some((name, unescape_entities(&inner[..end]), &inner[end + closing.len_utf8()..])))
}

/// Replaces the five entities (XML 1.0, section 4.6) with their characters.
pub(super) fn unescape_entities(text: &str) -> String {
    const ENTITIES: [(&str, &str); 4] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'")];
    if !text.contains('&') {
        return text.to_owned();
    }
    let text = ENTITIES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&amp;", "&")
}

/// Returns `true` if the list contains the name, ignoring case.
pub(super) fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}
