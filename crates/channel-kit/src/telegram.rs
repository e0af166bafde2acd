//! Writes styled text in Telegram's format: plain text and entities, both counted in UTF-16 code
//! units.

use std::ops::Range;

use avocet_protocol::chat::{Style, StyleRange};
use serde::Serialize;

use crate::link::MAX_URL_CHARS;
use crate::ranges::{merge_ranges, nest_styles, remove_holes, touches_any};
use crate::split::Limit;
use crate::styled::{Styled, trimmed_range};

/// The longest text of a message, in UTF-16 code units (Bot API, `sendMessage`).
pub const MAX_TEXT: usize = 4096;
/// The longest caption of a file, in UTF-16 code units (Bot API, `sendPhoto`).
pub const MAX_CAPTION: usize = 1024;
/// The most entities of a message. Telegram ignores further ones (core.telegram.org, "limits").
pub const MAX_ENTITIES: usize = 100;

/// The size limit of one message.
#[must_use]
pub fn limit() -> Limit {
    Limit::new(MAX_TEXT, size)
}

/// The length of the text in UTF-16 code units; more than any limit if it has too many entities.
#[must_use]
pub fn size(styled: &Styled) -> usize {
    if styled.styles.len() > MAX_ENTITIES || entities(styled).len() > MAX_ENTITIES {
        return usize::MAX;
    }
    styled.text.encode_utf16().count()
}

/// A special part of a message's text (Bot API, `MessageEntity`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// The type of the entity.
    #[serde(flatten)]
    pub kind: EntityKind,
    /// The start, in UTF-16 code units.
    pub offset: usize,
    /// The length, in UTF-16 code units; at least 1.
    pub length: usize,
}

/// The type of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the Bot API's")]
pub enum EntityKind {
    Bold,
    Italic,
    Strikethrough,
    Spoiler,
    Code,
    Pre {
        #[serde(skip_serializing_if = "Option::is_none")]
        language: Option<String>,
    },
    Blockquote,
    TextLink {
        url: String,
    },
}

/// Returns the entities of a text, sorted by offset, the longer one first.
///
/// Code may be part of a quote, and of no other style (Bot API, "Formatting options"). Around code,
/// emphasis is cut. Inline code in spoilers and links becomes plain. Entities begin and end at visible characters, except that code blocks keep their
/// indentation. Mail addresses are plain: Telegram finds them itself, and refuses `mailto` links.
#[must_use]
pub fn entities(styled: &Styled) -> Vec<Entity> {
    let mut offsets = Utf16Offsets { text: &styled.text, byte: 0, utf16: 0 };
    let entity = |StyleRange { start, end, style }: StyleRange| {
        let offset = offsets.offset_at(start);
        let length = styled.text[start..end].encode_utf16().count();
        Entity { kind: kind(style), offset, length }
    };
    allowed_ranges(styled).into_iter().map(entity).collect()
}

/// Converts byte positions to UTF-16 offsets. Positions have to be passed in ascending order.
struct Utf16Offsets<'a> {
    text: &'a str,
    byte: usize,
    utf16: usize,
}

impl Utf16Offsets<'_> {
    fn offset_at(&mut self, byte: usize) -> usize {
        self.utf16 += self.text[self.byte..byte].encode_utf16().count();
        self.byte = byte;
        self.utf16
    }
}

fn kind(style: Style) -> EntityKind {
    match style {
        Style::Bold | Style::Heading { .. } => EntityKind::Bold,
        Style::Italic | Style::Small => EntityKind::Italic,
        Style::Strike => EntityKind::Strikethrough,
        Style::Spoiler => EntityKind::Spoiler,
        Style::Code => EntityKind::Code,
        Style::Pre { language } => EntityKind::Pre { language },
        Style::Quote => EntityKind::Blockquote,
        Style::Link { url } => EntityKind::TextLink { url },
    }
}

/// Returns the ranges that Telegram accepts, sorted and nested.
fn allowed_ranges(styled: &Styled) -> Vec<StyleRange> {
    let ranges = trim_code_ranges(&styled.text, styled.styles.clone());
    let opaque = places_of(&ranges, |style| matches!(style, Style::Spoiler | Style::Link { .. }));
    let quotes = places_of(&ranges, |style| matches!(style, Style::Quote));
    let is_in_quote = |code: &Range<usize>| {
        quotes.iter().any(|quote| quote.start <= code.start && code.end <= quote.end)
    };
    let may_be_code = |code: &Range<usize>| {
        !touches_any(&opaque, code) && (!touches_any(&quotes, code) || is_in_quote(code))
    };
    let kept = ranges.into_iter().filter(|range| match &range.style {
        Style::Code => may_be_code(&range.range()),
        Style::Link { url } => is_linkable(url),
        _ => true,
    });
    let kept: Vec<StyleRange> = kept.collect();
    let (code, blocks) = (places_of(&kept, is_code), places_of(&kept, is_block));
    let cut = kept.into_iter().flat_map(|range| match range.style {
        Style::Quote => split_around_code(range, &blocks),
        _ => split_around_code(range, &code),
    });
    let mut cut = nest_styles(cut.collect());
    loop {
        // A range that is cut at the end of another may now begin or end in white space.
        let again = nest_styles(trim_code_ranges(&styled.text, cut.clone()));
        if again == cut {
            return cut;
        }
        cut = again;
    }
}

fn is_code(style: &Style) -> bool {
    matches!(style, Style::Pre { .. } | Style::Code)
}

fn is_block(style: &Style) -> bool {
    matches!(style, Style::Pre { .. })
}

/// Returns the places of the styles for which `is` holds.
fn places_of(ranges: &[StyleRange], is: impl Fn(&Style) -> bool) -> Vec<Range<usize>> {
    let ranges = ranges.iter().filter(|range| is(&range.style));
    merge_ranges(ranges.map(StyleRange::range).collect())
}

/// Returns a range without the code in it. A range of code is returned as it is.
fn split_around_code(range: StyleRange, code: &[Range<usize>]) -> Vec<StyleRange> {
    if is_code(&range.style) {
        return vec![range];
    }
    let parts = remove_holes(range.range(), code).into_iter();
    parts.map(|part| StyleRange::new(part, range.style.clone())).collect()
}

/// Trims the ranges. Only code blocks may begin in white space.
fn trim_code_ranges(text: &str, ranges: Vec<StyleRange>) -> Vec<StyleRange> {
    let trim = |range| {
        let mut range = trimmed_range(range, text);
        if !matches!(range.style, Style::Pre { .. }) {
            range.start = range.end - text[range.range()].trim_start().len();
        }
        range
    };
    ranges.into_iter().map(trim).collect()
}

/// Returns `true` if Telegram accepts the address as a link and would show it as one, not as a
/// mention.
fn is_linkable(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_known = matches!(scheme.as_deref(), Some("http" | "https" | "tg"));
    is_known && url.chars().count() <= MAX_URL_CHARS
}

#[cfg(test)]
#[path = "telegram_tests.rs"]
mod tests;
