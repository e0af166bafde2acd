//! The markup around and between calls that models use only for calls: control tokens and tags.

use super::strip;
use crate::visible::tokens::{TokenStart, token};

/// The place of a mark in a section of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It opens a section or a call.
    Open,
    /// It closes a section or a call.
    Close,
    /// It separates the name of a call from its arguments.
    Between,
}

/// Control tokens, in lower case with `|` and `_`.
const TOKENS: [(&str, Mark); 17] = [
    ("<|tool_calls_section_begin|>", Mark::Open),
    ("<|tool_call_section_begin|>", Mark::Open),
    ("<|tool_calls_begin|>", Mark::Open),
    ("<|tool_call_begin|>", Mark::Open),
    ("<|tools_prefix|>", Mark::Open),
    ("<start_function_call>", Mark::Open),
    ("<|tool_call>", Mark::Open),
    ("<|tool_calls_section_end|>", Mark::Close),
    ("<|tool_call_section_end|>", Mark::Close),
    ("<|tool_calls_end|>", Mark::Close),
    ("<|tool_call_end|>", Mark::Close),
    ("<|tools_suffix|>", Mark::Close),
    ("<end_function_call>", Mark::Close),
    ("<tool_call|>", Mark::Close),
    ("<|tool_sep|>", Mark::Between),
    ("<|tool_call_argument_begin|>", Mark::Between),
    ("<|tool_call_arguments_begin|>", Mark::Between),
];
/// Tags around calls, without the prefix of a family.
const AROUND: [&str; 3] = ["tool_call", "tool_calls", "function_calls"];
/// The tag between a name and its arguments.
const SEPARATOR: &str = "tool_sep";
/// Prefixes of the tags of a family.
const PREFIXES: [&str; 3] = ["minimax:", "seed:", "longcat_"];
/// The prefix of DeepSeek's tags, in its two spellings.
pub(super) const DSML: [&str; 2] = ["｜DSML｜", "|DSML|"];

/// Returns `true` if a text can begin with a mark of a family or with an opening, judged by its
/// second character. Most tags in an answer are something else.
pub(super) fn may_begin(text: &str) -> bool {
    const SECOND: [char; 12] = ['|', '｜', 'e', 'l', 'm', 's', 't', 'E', 'L', 'M', 'S', 'T'];
    text.strip_prefix('<').is_some_and(|rest| rest.is_empty() || rest.starts_with(SECOND))
}

/// Returns the mark at the start of a text, and its length in bytes.
pub(super) fn mark(text: &str) -> Option<(Mark, usize)> {
    if !text.starts_with('<') {
        return None;
    }
    if let Some(found) = control_token(text) {
        return Some(found);
    }
    let tag = PlainTag::of(text)?;
    let kind = match (tag.name, tag.closes) {
        (name, false) if is_one_of(name, &AROUND) => Mark::Open,
        (name, true) if is_one_of(name, &AROUND) => Mark::Close,
        (name, _) if name.eq_ignore_ascii_case(SEPARATOR) => Mark::Between,
        _ => return None,
    };
    Some((kind, tag.bytes))
}

/// Returns the index of the next mark in a text.
pub(super) fn next(text: &str) -> Option<usize> {
    text.match_indices('<').map(|(at, _)| at).find(|at| mark(&text[*at..]).is_some())
}

/// Finds a control token at the start of a text outside of a call, where it has no meaning.
pub(super) fn stray(text: &str) -> TokenStart {
    if !may_begin(text) {
        return TokenStart::Nothing;
    }
    let mut starts = TOKENS.iter().filter(|(_, kind)| *kind != Mark::Open);
    if let Some(start) = starts.clone().find_map(|(word, _)| match token(text, word) {
        start @ TokenStart::Whole(_) => Some(start),
        TokenStart::Part | TokenStart::Nothing => None,
    }) {
        return start;
    }
    let is_part = starts.any(|(word, _)| token(text, word) == TokenStart::Part);
    if is_part { TokenStart::Part } else { TokenStart::Nothing }
}

/// Returns `true` if a text begins with a control token of calls.
pub(super) fn is_control_token(text: &str) -> bool {
    control_token(text).is_some()
}

fn control_token(text: &str) -> Option<(Mark, usize)> {
    TOKENS.iter().find_map(|(word, kind)| match token(text, word) {
        TokenStart::Whole(bytes) => Some((*kind, bytes)),
        TokenStart::Part | TokenStart::Nothing => None,
    })
}

/// A tag without attributes.
pub(super) struct PlainTag<'t> {
    /// The name without the prefix and the suffix of a family.
    pub(super) name: &'t str,
    pub(super) closes: bool,
    pub(super) bytes: usize,
}

impl<'t> PlainTag<'t> {
    /// Parses `<arg_key>`, `</longcat_arg_key>`, `<tool_calls:suffix>` or `<｜DSML｜tool_calls>`.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let (inner, closes) = match inner.strip_prefix('/') {
            Some(inner) => (inner, true),
            None => (inner, false),
        };
        let inner = DSML.iter().find_map(|prefix| strip(inner, prefix)).unwrap_or(inner);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
        let (written, rest) = inner.split_at(inner.find(|c| !is_name(c))?);
        let rest = rest.trim_start_matches(' ').strip_prefix('>')?;
        let name = PREFIXES.iter().find_map(|prefix| strip(written, prefix)).unwrap_or(written);
        let name = name.split(':').next().unwrap_or(name);
        Some(Self { name, closes, bytes: text.len() - rest.len() })
    }

    /// Parses the tag at the start of a text if it has this name.
    pub(super) fn named(text: &'t str, name: &str, closes: bool) -> Option<Self> {
        let is_it = |tag: &Self| tag.closes == closes && tag.name.eq_ignore_ascii_case(name);
        Self::of(text).filter(is_it)
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}
