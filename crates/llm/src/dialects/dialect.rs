//! The trait of a dialect, and the words of its readers: places, matches, ends.

use std::fmt;

use avocet_protocol::model::{SentCall, ToolCall};
use avocet_protocol::tool::ToolSpec;

use super::{AnsweredCall, words};

/// A way to write tool calls as text.
pub(crate) trait Dialect: fmt::Debug + Send + Sync {
    /// The name in the configuration.
    fn name(&self) -> &'static str;

    /// The syntax of a call, explained to the model: one sentence, without an example.
    fn syntax_text(&self) -> &'static str;

    /// Writes calls as the model would have written them.
    fn render_calls(&self, calls: &[SentCall], tools: &[ToolSpec]) -> String;

    /// Writes the part of the system prompt that lists the tools and shows the syntax of calls.
    fn render_tools(&self, tools: &[ToolSpec]) -> String {
        let written = |call| self.render_calls(&[call], tools);
        words::list_tools(tools, self.syntax_text(), self.tells_aliases(), &written)
    }

    /// Returns `true` if the list of tools includes other names of tools and arguments.
    fn tells_aliases(&self) -> bool {
        false
    }

    /// Returns `true` if calls stand between control tokens, which models use only for calls.
    fn has_control_words(&self) -> bool {
        false
    }

    /// Writes the results of calls as a message to the model.
    fn render_results(&self, results: &[AnsweredCall<'_>]) -> String {
        words::write_results(results)
    }

    /// Checks for a call at a place in the text: at `<`, `[` or `{`, or at the start of a line.
    fn at_start(&self, place: &ReplyPosition<'_>) -> DialectMatch {
        let _ = place;
        DialectMatch::Nothing
    }

    /// Returns `true` if blocks with this info string can be calls.
    fn takes_fence(&self, info: &str) -> bool {
        let _ = info;
        false
    }

    /// Returns `true` if an incomplete fenced block can still be calls. The place is the block's
    /// first line.
    fn may_be_call(&self, place: &ReplyPosition<'_>) -> bool {
        let _ = place;
        true
    }

    /// Returns the calls in a fenced block and the number of bytes read. The place is the block's
    /// first line.
    fn in_fence(&self, place: &ReplyPosition<'_>) -> Option<(usize, Vec<ToolCall>)> {
        let _ = place;
        None
    }
}

/// A place in a reply, with its context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyPosition<'t> {
    /// The reply from this place on.
    pub(super) rest: &'t str,
    /// `true` at the start of a line, after list and quote markers.
    pub(super) is_line: bool,
    /// `true` if the text is complete.
    pub(super) is_all: bool,
    /// `true` if the reply was cut off at the model's output limit.
    pub(super) is_cut: bool,
    /// `true` if the model was instructed to write calls in this dialect.
    pub(super) is_instructed: bool,
    /// See [`super::ReplyReader::is_auto`].
    pub(super) is_auto: bool,
    /// `true` if the reply has a call before this place.
    pub(super) has_called: bool,
    /// The offered tools.
    pub(super) tools: &'t [ToolSpec],
}

impl<'t> ReplyPosition<'t> {
    /// The place this many bytes later, inside a line.
    pub(super) fn advanced_by(&self, bytes: usize) -> ReplyPosition<'t> {
        ReplyPosition { rest: &self.rest[bytes..], is_line: false, ..*self }
    }
}

/// The end of a text of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEnd {
    Complete,
    /// The text was cut off, so the end may be missing.
    Cut,
}

impl TextEnd {
    pub(crate) fn cut_if(is_cut: bool) -> Self {
        if is_cut { Self::Cut } else { Self::Complete }
    }

    pub(crate) fn is_cut(self) -> bool {
        self == Self::Cut
    }
}

/// The classification of the start of a text. Lengths are in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DialectMatch {
    Nothing,
    /// Plain text.
    Plain(usize),
    /// The decision needs more text.
    Open,
    /// Bytes to replace with this text.
    Replaced(usize, String),
    /// Calls, and the text between them.
    Calls(usize, String, Vec<ToolCall>),
    /// A result that the model invented. Everything after it is ignored.
    Invented,
}

/// Calls of this length without a text, or `DialectMatch::Nothing` if the list is empty.
pub(super) fn match_of_calls(bytes: usize, calls: Vec<ToolCall>) -> DialectMatch {
    if calls.is_empty() {
        DialectMatch::Nothing
    } else {
        DialectMatch::Calls(bytes, String::new(), calls)
    }
}

/// Removes a prefix, ignoring case. Returns the rest.
pub(super) fn strip_ignoring_case<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// Returns `true` if a text is the beginning of a word, ignoring case.
pub(super) fn is_beginning_of(word: &str, text: &str) -> bool {
    word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}

/// The index of a word in a text, ignoring case. The word's first character must be caseless, such
/// as `<`.
pub(super) fn find_ignoring_case(text: &str, word: &str) -> Option<usize> {
    let first = word.chars().next()?;
    text.match_indices(first)
        .map(|(at, _)| at)
        .find(|at| strip_ignoring_case(&text[*at..], word).is_some())
}
