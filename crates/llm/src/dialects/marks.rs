//! The markup around and between calls that models use only for calls: the tokens of
//! [`call_marks`](crate::call_marks), and tags in the spellings of the families.

use super::strip_ignoring_case;
pub(super) use crate::call_marks::MarkPlace;
use crate::call_marks::call_token;
use crate::visible::tokens::{TokenStart, match_token};

/// Tags around calls, without the prefix of a family.
const AROUND: [&str; 3] = ["tool_call", "tool_calls", "function_calls"];
/// The same in the spelling of a family, in which no other text has tags.
const AROUND_SPELLED: [&str; 2] = ["calls", "tools"];
/// The tag between a name and its arguments.
const SEPARATOR: &str = "tool_sep";
/// Prefixes of the tags of a family.
const PREFIXES: [&str; 4] = ["minimax:", "seed:", "longcat_", "steptml:"];
/// Spellings of tags: the start of an opening tag, the start of a closing tag, and the end of both.
const SPELLINGS: [[&str; 3]; 5] = [
    ["<|dsml|", "</|dsml|", ">"],
    ["]<]minimax[>[<", "]<]minimax[>[</", ">"],
    ["<]minimax[>[<", "<]minimax[>[</", ">"],
    ["<|open|>", "<|close|>", "<|sep|>"],
    ["<", "</", ">"],
];
/// The index of the common spelling.
const PLAIN: usize = 4;
/// Spellings in which an element can hold other elements.
const NESTED: [usize; 2] = [1, 2];
/// Maximum bytes of a tag.
const LONGEST: usize = 500;

/// Returns `true` if a text begins with a character of a mark or of a tag.
pub(super) fn is_start(text: &str) -> bool {
    text.starts_with(['<', ']'])
}

/// Returns the places in a text where a mark or a tag can begin.
pub(super) fn mark_starts(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices(['<', '[', ']']).map(|(at, _)| at)
}

/// Returns the mark at the start of a text, and its length in bytes.
pub(super) fn mark_at_start(text: &str) -> Option<(MarkPlace, usize)> {
    if let Some(found) = call_token(text) {
        return Some(found);
    }
    let tag = PlainTag::parse_tag(text)?;
    let is_around = is_one_of(tag.name, &AROUND)
        || (tag.spelling != PLAIN && is_one_of(tag.name, &AROUND_SPELLED));
    let kind = match tag.closes {
        false if is_around => MarkPlace::Open,
        true if is_around => MarkPlace::Close,
        _ if tag.name.eq_ignore_ascii_case(SEPARATOR) => MarkPlace::Between,
        _ => return None,
    };
    Some((kind, tag.bytes))
}

/// Returns the index of the next mark in a text.
pub(super) fn next(text: &str) -> Option<usize> {
    mark_starts(text).find(|at| mark_at_start(&text[*at..]).is_some())
}

/// A tag in the spelling of any family.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpelledTag<'t> {
    /// The name and the attributes.
    pub(super) head: &'t str,
    pub(super) closes: bool,
    /// The index of the spelling.
    pub(super) spelling: usize,
    pub(super) bytes: usize,
}

impl<'t> SpelledTag<'t> {
    /// Parses the tag at the start of a text.
    pub(super) fn parse_tag(text: &'t str) -> Option<Self> {
        if !is_start(text) {
            return None;
        }
        SPELLINGS.iter().enumerate().find_map(|(spelling, [open, close, end])| {
            let (closes, before) = match (match_token(text, close), match_token(text, open)) {
                (TokenStart::Whole(before), _) => (true, before),
                (_, TokenStart::Whole(before)) => (false, before),
                _ => return None,
            };
            let near = &text[before..text.floor_char_boundary(before + LONGEST)];
            let mut ends = near.match_indices(&end[..1]).map(|(at, _)| at);
            let found = |at| match match_token(&near[at..], end) {
                TokenStart::Whole(bytes) => Some((at, bytes)),
                TokenStart::Part | TokenStart::Nothing => None,
            };
            let (at, bytes) = ends.find_map(found)?;
            let head = near[..at].trim();
            Some(Self { head, closes, spelling, bytes: before + at + bytes })
        })
    }

    pub(super) fn is_plain(&self) -> bool {
        self.spelling == PLAIN
    }

    /// Returns `true` if the tag can hold other elements.
    pub(super) fn is_nested(&self) -> bool {
        NESTED.contains(&self.spelling)
    }
}

/// A tag without attributes.
pub(super) struct PlainTag<'t> {
    /// The name without the prefix and the suffix of a family.
    pub(super) name: &'t str,
    pub(super) closes: bool,
    pub(super) spelling: usize,
    pub(super) bytes: usize,
}

impl<'t> PlainTag<'t> {
    /// Parses `<arg_key>`, `</longcat_arg_key>`, `<tool_calls:suffix>` or `<｜DSML｜ calls>`.
    pub(super) fn parse_tag(text: &'t str) -> Option<Self> {
        let SpelledTag { head, closes, spelling, bytes } = SpelledTag::parse_tag(text)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
        if !head.chars().all(is_name) {
            return None;
        }
        let name =
            PREFIXES.iter().find_map(|prefix| strip_ignoring_case(head, prefix)).unwrap_or(head);
        let name = name.split(':').next().unwrap_or(name);
        Some(Self { name, closes, spelling, bytes })
    }

    /// Parses the tag at the start of a text if it has this name.
    pub(super) fn parse_named(text: &'t str, name: &str, closes: bool) -> Option<Self> {
        let is_it = |tag: &Self| tag.closes == closes && tag.name.eq_ignore_ascii_case(name);
        Self::parse_tag(text).filter(is_it)
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}
