//! Splits a reply into its text and its calls.

use avocet_protocol::model::ToolCall;
use avocet_protocol::tool::ToolSpec;

use super::{DIALECTS, Dialect, DialectMatch, FAMILIES, ReplyPosition, TextEnd, invented};
use crate::call_marks::{may_begin, stray_token};
use crate::end_marks;
use crate::visible::code::{self, CodeFence, CodeTracker};
use crate::visible::tokens::TokenStart;

#[derive(Debug, Default)]
pub(crate) struct ParsedReply {
    /// The text outside of calls.
    pub(crate) text: String,
    /// The calls, in order.
    pub(crate) calls: Vec<ToolCall>,
    /// The dialect of the first call.
    pub(crate) dialect: Option<&'static dyn Dialect>,
    /// `true` if more text follows a call.
    pub(crate) is_followed: bool,
    /// `true` if only blanks follow the last call.
    pub(crate) ends_in_call: bool,
    /// `true` if a result that the model invented follows a call.
    pub(crate) has_invented_result: bool,
    /// `true` if a call stands in a quote.
    pub(crate) is_quoted: bool,
    /// `true` if the model signals that everything is done.
    pub(crate) is_done: bool,
}

/// A reader for replies of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyReader<'t> {
    /// The dialect that the model was instructed to use. Calls in the other dialects are read as
    /// well.
    pub(crate) instructed: Option<&'static dyn Dialect>,
    /// The offered tools.
    pub(crate) tools: &'t [ToolSpec],
    /// `true` if commands in a code block may have the names that tools have elsewhere.
    pub(crate) is_auto: bool,
}

impl<'t> ReplyReader<'t> {
    pub(crate) fn new(instructed: Option<&'static dyn Dialect>, tools: &'t [ToolSpec]) -> Self {
        Self { instructed, tools, is_auto: false }
    }

    /// Parses a complete reply.
    pub(crate) fn read(&self, text: &str, end: TextEnd) -> ParsedReply {
        let mut state = ReaderState { is_cut: end.is_cut(), ..ReaderState::default() };
        state.advance_text(self, text, true);
        state.finish()
    }
}

/// The state of a reader inside a reply.
#[derive(Debug)]
pub(super) struct ReaderState {
    pub(super) read: ParsedReply,
    /// Blanks that count only if more text follows them.
    blanks: String,
    code: CodeTracker,
    /// The number of next bytes that are outside of code.
    known: usize,
    /// `true` at the start of a line.
    is_line: bool,
    /// `true` if the line is in a quote.
    in_quote: bool,
    /// `true` if only blanks follow the last call.
    just_called: bool,
    /// `true` if the rest of the reply is ignored.
    is_over: bool,
    is_cut: bool,
}

impl Default for ReaderState {
    fn default() -> Self {
        Self {
            read: ParsedReply::default(),
            blanks: String::new(),
            code: CodeTracker::default(),
            known: 0,
            is_line: true,
            in_quote: false,
            just_called: false,
            is_over: false,
            is_cut: false,
        }
    }
}

/// The next step of the reader. Lengths are in bytes.
enum ReaderStep {
    /// Text of the reply.
    Say(usize),
    /// A `DialectMatch` after this many bytes of leading blanks and markers, and its dialect.
    Apply(usize, DialectMatch, Option<&'static dyn Dialect>),
    /// Bytes to skip.
    Skip(usize),
    /// An end signal.
    Done(usize),
    /// The decision needs more text.
    Wait,
}

impl ReaderState {
    /// Reads on. Returns the number of bytes read.
    pub(super) fn advance_text(
        &mut self,
        reader: &ReplyReader<'_>,
        text: &str,
        is_all: bool,
    ) -> usize {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            at += match self.next(reader, rest, is_all) {
                ReaderStep::Wait => break,
                ReaderStep::Say(bytes) => {
                    self.push_text(&rest[..bytes]);
                    self.pass_text(&rest[..bytes]);
                    bytes
                }
                ReaderStep::Skip(bytes) => {
                    self.pass_text(&rest[..bytes]);
                    bytes
                }
                ReaderStep::Done(bytes) => {
                    self.read.is_done = true;
                    // An end signal may also precede the answer.
                    self.is_over = !self.read.text.is_empty() || !self.read.calls.is_empty();
                    self.pass_text(&rest[..bytes]);
                    bytes
                }
                ReaderStep::Apply(before, matched, dialect) => {
                    let bytes = before + self.apply_match(&rest[before..], matched, dialect);
                    self.pass_text(&rest[..bytes]);
                    bytes
                }
            };
        }
        at
    }

    /// The text after the first `shown` bytes, with the blanks at its end. Valid until the first
    /// call.
    pub(super) fn so_far(&self, shown: usize) -> String {
        let text = &self.read.text;
        let blanks = &self.blanks[shown.saturating_sub(text.len())..];
        format!("{}{blanks}", &text[shown.min(text.len())..])
    }

    fn finish(mut self) -> ParsedReply {
        if self.read.calls.is_empty() && !self.read.is_done {
            self.read.text.push_str(&self.blanks);
        } else {
            self.read.text.truncate(self.read.text.trim_end().len());
        }
        self.read.ends_in_call = self.just_called;
        self.read
    }

    fn next(&mut self, reader: &ReplyReader<'_>, rest: &str, is_all: bool) -> ReaderStep {
        if self.is_over {
            self.read.is_followed |= !rest.trim().is_empty();
            return ReaderStep::Skip(rest.len());
        }
        if self.is_line && !self.code.is_fenced() {
            self.in_quote = rest[..code::lead_bytes(rest)].contains('>');
        }
        let place = ReplyPosition {
            rest,
            is_line: self.is_line,
            is_all,
            is_cut: self.is_cut,
            is_instructed: false,
            is_auto: reader.is_auto,
            has_called: !self.read.calls.is_empty(),
            tools: reader.tools,
        };
        if self.is_line
            && !self.code.is_fenced()
            && let Some(next) = self.at_line(reader, &place)
        {
            return next;
        }
        if self.known == 0 {
            match self.code.cross_start(rest, is_all) {
                code::CodeStep::Code(bytes) => return ReaderStep::Say(bytes),
                code::CodeStep::Wait => return ReaderStep::Wait,
                code::CodeStep::Text(bytes) => self.known = bytes,
            }
        }
        match rest[..self.known].find(['<', '[', ']', '{']) {
            Some(0) => self.at_mark(reader, &place),
            Some(before) => ReaderStep::Say(before),
            None => ReaderStep::Say(self.known),
        }
    }

    /// The step for the start of a line; `None` for an ordinary line.
    fn at_line(&self, reader: &ReplyReader<'_>, place: &ReplyPosition<'_>) -> Option<ReaderStep> {
        let rest = place.rest;
        let line_bytes = code::line_bytes(rest);
        let line = &rest[..line_bytes.unwrap_or(rest.len())];
        let lead = code::lead_bytes(line);
        let may_be = |rest| code::can_be_fence(rest) || end_marks::may_be_mark(rest);
        if line_bytes.is_none() && !place.is_all && (lead == rest.len() || may_be(rest)) {
            return Some(ReaderStep::Wait);
        }
        if let Some(fence) = CodeFence::parse_fence(line) {
            return self.read_fenced(reader, place, line, fence);
        }
        if place.has_called && invented::at_line(&line[lead..]) {
            return Some(ReaderStep::Apply(0, DialectMatch::Invented, None));
        }
        match match_at(reader, &ReplyPosition { rest: &rest[lead..], ..*place }) {
            (DialectMatch::Nothing | DialectMatch::Plain(_), _) => {
                end_marks::is_mark(line).then_some(ReaderStep::Done(line.len()))
            }
            (DialectMatch::Open, _) => Some(ReaderStep::Wait),
            (matched, dialect) => Some(ReaderStep::Apply(lead, matched, dialect)),
        }
    }

    fn at_mark(&self, reader: &ReplyReader<'_>, place: &ReplyPosition<'_>) -> ReaderStep {
        if place.has_called {
            if invented::begins_invented_result(place.rest) {
                return ReaderStep::Apply(0, DialectMatch::Invented, None);
            }
            if let Some(bytes) = invented::leftover_bytes(place.rest) {
                return ReaderStep::Skip(bytes);
            }
        }
        match stray_token(place.rest) {
            TokenStart::Whole(bytes) => return ReaderStep::Skip(bytes),
            TokenStart::Part if !place.is_all => return ReaderStep::Wait,
            TokenStart::Part | TokenStart::Nothing => {}
        }
        let first = place.rest.chars().next().map_or(0, char::len_utf8);
        match match_at(reader, &ReplyPosition { is_line: false, ..*place }) {
            (DialectMatch::Open, _) => ReaderStep::Wait,
            // Other text directly after a call is its invented result.
            (DialectMatch::Plain(bytes), _) if self.just_called && bytes > first => {
                ReaderStep::Apply(0, DialectMatch::Invented, None)
            }
            (DialectMatch::Nothing, _) => ReaderStep::Say(first),
            (DialectMatch::Plain(bytes), _) => ReaderStep::Say(bytes.max(first)),
            (matched, dialect) => ReaderStep::Apply(0, matched, dialect),
        }
    }

    /// The step for the block that begins with this line. `None` leaves the block to the code
    /// tracker.
    fn read_fenced(
        &self,
        reader: &ReplyReader<'_>,
        place: &ReplyPosition<'_>,
        line: &str,
        fence: CodeFence<'_>,
    ) -> Option<ReaderStep> {
        let word = fence.info.split_whitespace().next().unwrap_or_default();
        let takers: Vec<_> = DIALECTS.iter().filter(|dialect| dialect.takes_fence(word)).collect();
        if takers.is_empty() && !place.has_called {
            return None;
        }
        let body = &place.rest[line.len()..];
        let end = fence.end_in(body);
        if end.is_none() && !place.is_all {
            let is_open = takers.iter().any(|taker| {
                let is_instructed = is_instructed_dialect(reader.instructed, **taker);
                taker.may_be_call(&ReplyPosition { rest: body, is_instructed, ..*place })
            });
            return (is_open || place.has_called).then_some(ReaderStep::Wait);
        }
        let (inner, whole) = match end {
            Some((inner, after)) => (inner, line.len() + after),
            None => (body.len(), place.rest.len()),
        };
        let is_cut = place.is_cut && end.is_none();
        for dialect in takers {
            let is_instructed = is_instructed_dialect(reader.instructed, *dialect);
            let place = ReplyPosition {
                rest: &body[..inner],
                is_instructed,
                is_all: true,
                is_cut,
                ..*place
            };
            if let Some((bytes, calls)) = dialect.in_fence(&place) {
                let read = if end.is_some() { whole } else { line.len() + bytes };
                return Some(ReaderStep::Apply(
                    0,
                    super::match_of_calls(read, calls),
                    Some(*dialect),
                ));
            }
        }
        match (self.just_called, body.trim().is_empty()) {
            // The rest of a fence that closes a block without a start.
            (true, true) => Some(ReaderStep::Skip(line.len())),
            (true, false) if end.is_none() && fence.info.is_empty() => {
                Some(ReaderStep::Skip(line.len()))
            }
            (true, false) => Some(ReaderStep::Apply(0, DialectMatch::Invented, None)),
            (false, _) => Some(ReaderStep::Say(whole)),
        }
    }

    /// Applies a match. Returns its length in bytes.
    fn apply_match(
        &mut self,
        rest: &str,
        matched: DialectMatch,
        dialect: Option<&'static dyn Dialect>,
    ) -> usize {
        match matched {
            DialectMatch::Calls(bytes, text, calls) => {
                self.push_text(&text);
                self.read.is_quoted |= self.in_quote;
                self.read.calls.extend(calls);
                self.read.dialect = self.read.dialect.or(dialect);
                self.just_called = true;
                bytes
            }
            DialectMatch::Replaced(bytes, text) => {
                self.push_text(&text);
                bytes
            }
            DialectMatch::Invented => {
                self.is_over = true;
                self.read.has_invented_result = true;
                rest.len()
            }
            DialectMatch::Nothing | DialectMatch::Open | DialectMatch::Plain(_) => 0,
        }
    }

    fn push_text(&mut self, text: &str) {
        let kept = text.trim_end();
        if !kept.is_empty() {
            self.read.is_followed |= !self.read.calls.is_empty();
            let kept = if self.just_called { self.separate_part(kept) } else { kept };
            if self.read.is_done && self.read.text.is_empty() {
                self.blanks.clear();
            }
            self.read.text.push_str(&self.blanks);
            self.read.text.push_str(kept);
            self.blanks.clear();
            self.just_called = false;
        }
        self.blanks.push_str(&text[text.trim_end().len()..]);
    }

    /// Replaces the blanks around a call by a separator between two parts of the text. Returns the
    /// text without leading blanks.
    fn separate_part<'a>(&mut self, text: &'a str) -> &'a str {
        let kept = text.trim_start();
        self.blanks.push_str(&text[..text.len() - kept.len()]);
        let between = if self.blanks.contains('\n') { "\n\n" } else { " " };
        let is_first = self.read.text.is_empty();
        self.blanks = if is_first { String::new() } else { between.to_owned() };
        kept
    }

    fn pass_text(&mut self, text: &str) {
        self.code.pass_text(text);
        self.known = self.known.saturating_sub(text.len());
        self.is_line = text.ends_with('\n');
    }
}

/// The match at a place, in the first dialect that finds one.
fn match_at(
    reader: &ReplyReader<'_>,
    place: &ReplyPosition<'_>,
) -> (DialectMatch, Option<&'static dyn Dialect>) {
    let (mut open, mut plain) = (false, 0);
    let instructed = reader.instructed.into_iter();
    // The families need a look only where one of their openings can begin.
    let first = if may_begin(place.rest) { 0 } else { FAMILIES };
    let others = DIALECTS
        .into_iter()
        .skip(first)
        .filter(|one| !is_instructed_dialect(reader.instructed, *one));
    for dialect in instructed.chain(others) {
        match dialect.at_start(&ReplyPosition {
            is_instructed: is_instructed_dialect(reader.instructed, dialect),
            ..*place
        }) {
            DialectMatch::Nothing => {}
            DialectMatch::Open => open = true,
            DialectMatch::Plain(bytes) => plain = plain.max(bytes),
            matched => return (matched, Some(dialect)),
        }
    }
    match (open && !place.is_all, plain) {
        (true, _) => (DialectMatch::Open, None),
        (false, 0) => (DialectMatch::Nothing, None),
        (false, bytes) => (DialectMatch::Plain(bytes), None),
    }
}

fn is_instructed_dialect(instructed: Option<&dyn Dialect>, dialect: &dyn Dialect) -> bool {
    instructed.is_some_and(|instructed| instructed.name() == dialect.name())
}
