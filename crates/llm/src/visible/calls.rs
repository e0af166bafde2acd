//! Finds tool calls in their own markup. They are kept, because the dialect reader needs them.

use super::tokens::{TokenStart, match_token};
use crate::call_marks::{CALL_MARKS, CALL_TAGS, CallMarks, may_begin};

/// A call at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallMatch {
    /// The length of a call's opening in bytes, and the tokens before which the call ends.
    Call(usize, CallEnds),
    /// A call may begin here.
    Open,
    Nothing,
}

/// The tokens before which a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnds {
    /// The closings of a tag or of a header.
    Words(&'static [&'static str]),
    /// The closings of this row of [`CALL_MARKS`].
    Row(usize),
}

impl CallEnds {
    fn end_words(self) -> impl Iterator<Item = &'static str> {
        let (words, before) = match self {
            Self::Words(words) => (words, &[][..]),
            Self::Row(row) => (CALL_MARKS[row].closes, CALL_MARKS[row].before),
        };
        words.iter().chain(before).copied()
    }

    /// The length in bytes of the closing mark at the start of a text; 0 if the call ends there
    /// without one, `None` if the mark is incomplete.
    pub(super) fn closing_bytes(self, text: &str, is_all: bool) -> Option<usize> {
        let closes = match self {
            Self::Words(words) => words,
            Self::Row(row) => CALL_MARKS[row].closes,
        };
        let Some(bytes) = match_whole_token(text, closes) else { return Some(0) };
        // The words for tags lack the end.
        if text[..bytes].ends_with(['>', ']']) {
            return Some(bytes);
        }
        let end = text[bytes..].find('>').map(|end| bytes + end + 1);
        end.or(is_all.then_some(text.len()))
    }
}

/// Control tokens before a header that may name a function.
const HEADS: [&str; 2] = ["<|channel|>", "<|start|>"];
/// The end of a header.
const MESSAGE: &str = "<|message|>";
/// The end of a message to a function.
const ENDS: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|start|>"];
/// Maximum bytes of a header.
const LONGEST: usize = 300;

/// The call at the start of a text; `is_all` means that the text is complete.
pub(super) fn at_start(text: &str, is_all: bool) -> CallMatch {
    if !may_begin(text) {
        return CallMatch::Nothing;
    }
    for (row, marks) in CALL_MARKS.iter().enumerate() {
        if let Some(bytes) = match_whole_token(text, marks.opens) {
            return CallMatch::Call(bytes, CallEnds::Row(row));
        }
    }
    for (word, ends) in CALL_TAGS {
        if let Some(bytes) = match_whole_token(text, &[word]) {
            return CallMatch::Call(bytes, CallEnds::Words(ends));
        }
    }
    if let Some(head) = HEADS.iter().find(|head| text.starts_with(*head)) {
        return match_header(text, head.len(), is_all);
    }
    let opens = CALL_MARKS.iter().flat_map(|CallMarks { opens, .. }| opens.iter().copied());
    let mut words = opens.chain(CALL_TAGS.iter().map(|(word, _)| *word)).chain(HEADS);
    let is_open = !is_all && words.any(|word| match_token(text, word) == TokenStart::Part);
    if is_open { CallMatch::Open } else { CallMatch::Nothing }
}

/// The length in bytes of the first of these tokens that a text begins with.
fn match_whole_token(text: &str, words: &[&str]) -> Option<usize> {
    words.iter().find_map(|word| match match_token(text, word) {
        TokenStart::Whole(bytes) => Some(bytes),
        TokenStart::Part | TokenStart::Nothing => None,
    })
}

/// Checks the header after the first `head` bytes. It belongs to a call if the assistant writes it
/// and its recipient is a function. Headers of results and of people begin differently.
fn match_header(text: &str, head: usize, is_all: bool) -> CallMatch {
    let near = &text[head..text.floor_char_boundary(LONGEST)];
    let ends = [near.find(MESSAGE), near.find(['{', '\n'])];
    let end = ends.into_iter().flatten().min();
    let is_own = |header: &str| {
        roles_in_header(text).iter().any(|role| header.trim_start().starts_with(role))
    };
    let to_function = |header: &str| {
        header.split_once("to=").is_some_and(|(_, to)| {
            !to.is_empty() && !to.starts_with("assistant") && !to.starts_with("user")
        })
    };
    match end.map(|end| &near[..end]) {
        Some(header) if is_own(header) && to_function(header) => {
            CallMatch::Call(head + header.len(), CallEnds::Words(ENDS))
        }
        None if !is_all && text.len() < LONGEST && is_own_so_far(text, near) => CallMatch::Open,
        _ => CallMatch::Nothing,
    }
}

/// Possible beginnings of the header of a message from the assistant.
fn roles_in_header(text: &str) -> &'static [&'static str] {
    if text.starts_with(HEADS[0]) { &["commentary", "analysis", "to="] } else { &["assistant"] }
}

/// Returns `true` if an incomplete header can still name a function.
fn is_own_so_far(text: &str, header: &str) -> bool {
    let header = header.trim_start();
    roles_in_header(text).iter().any(|role| role.starts_with(header) || header.starts_with(role))
}

/// Returns the end of a call in a text, or as `Err` the bytes that certainly belong to it so far.
/// `is_all` means that the text is complete.
pub(super) fn end_of_call(text: &str, ends: CallEnds, is_all: bool) -> Result<usize, usize> {
    for (at, _) in text.match_indices(['<', '[', ']']) {
        let starts = || ends.end_words().map(|end| match_token(&text[at..], end));
        if starts().any(|start| matches!(start, TokenStart::Whole(_))) {
            return Ok(at);
        }
        if !is_all && starts().any(|start| start == TokenStart::Part) {
            return Err(at);
        }
    }
    Err(text.len())
}
