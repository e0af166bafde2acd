//! Reads a reply: what of it is said, and what is called.

use avocet_protocol::{ToolCall, ToolSpec};

use super::{DIALECTS, Dialect, Place, Sight, made_up};
use crate::ending;
use crate::hidden::code::{self, Code};

/// A reply, read.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// What is said beside the calls.
    pub(crate) text: String,
    /// What is called, in order.
    pub(crate) calls: Vec<ToolCall>,
    /// How the first call is written.
    pub(crate) dialect: Option<&'static dyn Dialect>,
    /// More text follows a call.
    pub(crate) is_followed: bool,
    /// A result that the model makes up follows a call.
    pub(crate) is_made_up: bool,
    /// A call stands in a quote.
    pub(crate) is_quoted: bool,
    /// The model says that all is done.
    pub(crate) is_done: bool,
}

/// Reads replies of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'t> {
    /// The dialect that the model was told to use. Calls in all others are read, too.
    pub(crate) told: Option<&'static dyn Dialect>,
    /// What can be called.
    pub(crate) tools: &'t [ToolSpec],
}

impl Reader<'_> {
    /// Reads a whole reply; `is_cut` if it was cut off.
    pub(crate) fn read(&self, text: &str, is_cut: bool) -> Read {
        let mut state = State { is_cut, ..State::default() };
        state.advance(self, text, true);
        state.finish()
    }
}

/// How far a reply is read.
#[derive(Debug)]
pub(super) struct State {
    pub(super) read: Read,
    /// Blanks that count only if something is said behind them.
    blanks: String,
    code: Code,
    /// So many bytes from here on are no code.
    known: usize,
    /// At the start of a line.
    is_line: bool,
    /// The line is in a quote.
    in_quote: bool,
    /// Nothing but blanks since the last call.
    just_called: bool,
    /// Nothing that follows counts.
    is_over: bool,
    is_cut: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            read: Read::default(),
            blanks: String::new(),
            code: Code::default(),
            known: 0,
            is_line: true,
            in_quote: false,
            just_called: false,
            is_over: false,
            is_cut: false,
        }
    }
}

/// How the text goes on.
enum Next {
    /// So many bytes are said.
    Say(usize),
    /// So many bytes, after so many that count only if something is said, mean this.
    Heed(usize, Sight, Option<&'static dyn Dialect>),
    /// So many bytes are nothing.
    Skip(usize),
    /// So many bytes say that all is done.
    Done(usize),
    /// More has to come.
    Wait,
}

impl State {
    /// Reads on. Returns how many bytes are read.
    pub(super) fn advance(&mut self, reader: &Reader<'_>, text: &str, is_all: bool) -> usize {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            at += match self.next(reader, rest, is_all) {
                Next::Wait => break,
                Next::Say(bytes) => {
                    self.say(&rest[..bytes]);
                    self.pass(&rest[..bytes]);
                    bytes
                }
                Next::Skip(bytes) => {
                    self.pass(&rest[..bytes]);
                    bytes
                }
                Next::Done(bytes) => {
                    self.read.is_done = true;
                    // Where it stands first, the answer follows.
                    self.is_over = !self.read.text.is_empty() || !self.read.calls.is_empty();
                    self.pass(&rest[..bytes]);
                    bytes
                }
                Next::Heed(before, sight, dialect) => {
                    let bytes = before + self.heed(&rest[before..], sight, dialect);
                    self.pass(&rest[..bytes]);
                    bytes
                }
            };
        }
        at
    }

    /// What is said behind so many bytes, with the blanks at its end, as long as nothing is called.
    pub(super) fn so_far(&self, shown: usize) -> String {
        let text = &self.read.text;
        let blanks = &self.blanks[shown.saturating_sub(text.len())..];
        format!("{}{blanks}", &text[shown.min(text.len())..])
    }

    fn finish(mut self) -> Read {
        if self.read.calls.is_empty() && !self.read.is_done {
            self.read.text.push_str(&self.blanks);
        } else {
            self.read.text.truncate(self.read.text.trim_end().len());
        }
        self.read
    }

    fn next(&mut self, reader: &Reader<'_>, rest: &str, is_all: bool) -> Next {
        if self.is_over {
            self.read.is_followed |= !rest.trim().is_empty();
            return Next::Skip(rest.len());
        }
        if self.is_line && !self.code.is_fenced() {
            self.in_quote = rest[..code::lead(rest)].contains('>');
        }
        let place = Place {
            rest,
            is_line: self.is_line,
            is_all,
            is_cut: self.is_cut,
            is_told: false,
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
            match self.code.cross(rest, is_all) {
                code::Next::Code(bytes) => return Next::Say(bytes),
                code::Next::Wait => return Next::Wait,
                code::Next::Text(bytes) => self.known = bytes,
            }
        }
        match rest[..self.known].find(['<', '[', '{']) {
            Some(0) => self.at_mark(reader, &place),
            Some(before) => Next::Say(before),
            None => Next::Say(self.known),
        }
    }

    /// What a line begins with; none if that says nothing.
    fn at_line(&self, reader: &Reader<'_>, place: &Place<'_>) -> Option<Next> {
        let rest = place.rest;
        let line_bytes = rest.find('\n').map(|end| end + 1);
        let line = &rest[..line_bytes.unwrap_or(rest.len())];
        let lead = code::lead(line);
        let may_be = |rest| code::can_be_fence(rest) || ending::may_be_mark(rest);
        if line_bytes.is_none() && !place.is_all && (lead == rest.len() || may_be(rest)) {
            return Some(Next::Wait);
        }
        if let Some((mark, length, info)) = code::fence(line) {
            return self.fenced(reader, place, line, (mark, length, info.trim()));
        }
        if place.has_called && made_up::at_line(&line[lead..]) {
            return Some(Next::Heed(0, Sight::MadeUp, None));
        }
        match sight(reader, &Place { rest: &rest[lead..], ..*place }) {
            (Sight::Nothing | Sight::Plain(_), _) => {
                ending::is_mark(line).then_some(Next::Done(line.len()))
            }
            (Sight::Open, _) => Some(Next::Wait),
            (sight, dialect) => Some(Next::Heed(lead, sight, dialect)),
        }
    }

    fn at_mark(&self, reader: &Reader<'_>, place: &Place<'_>) -> Next {
        if place.has_called {
            if made_up::anywhere(place.rest) {
                return Next::Heed(0, Sight::MadeUp, None);
            }
            if let Some(bytes) = made_up::leftover(place.rest) {
                return Next::Skip(bytes);
            }
        }
        let first = place.rest.chars().next().map_or(0, char::len_utf8);
        match sight(reader, &Place { is_line: false, ..*place }) {
            (Sight::Open, _) => Next::Wait,
            // What directly follows a call and is no call is its result.
            (Sight::Plain(bytes), _) if self.just_called && bytes > first => {
                Next::Heed(0, Sight::MadeUp, None)
            }
            (Sight::Nothing, _) => Next::Say(first),
            (Sight::Plain(bytes), _) => Next::Say(bytes.max(first)),
            (sight, dialect) => Next::Heed(0, sight, dialect),
        }
    }

    /// A block that begins with this line. None if it is left to whoever knows code.
    fn fenced(
        &self,
        reader: &Reader<'_>,
        place: &Place<'_>,
        line: &str,
        (mark, length, info): (char, usize, &str),
    ) -> Option<Next> {
        let word = info.split_whitespace().next().unwrap_or_default();
        let takers: Vec<_> = DIALECTS.iter().filter(|dialect| dialect.takes_fence(word)).collect();
        if takers.is_empty() && !place.has_called {
            return None;
        }
        let body = &place.rest[line.len()..];
        let end = closing(body, mark, length);
        if end.is_none() && !place.is_all {
            let is_open = takers.iter().any(|taker| {
                let is_told = is(reader.told, **taker);
                taker.may_be_call(&Place { rest: body, is_told, ..*place })
            });
            return (is_open || place.has_called).then_some(Next::Wait);
        }
        let (inner, whole) = match end {
            Some((inner, after)) => (inner, line.len() + after),
            None => (body.len(), place.rest.len()),
        };
        let is_cut = place.is_cut && end.is_none();
        for dialect in takers {
            let is_told = is(reader.told, *dialect);
            let place = Place { rest: &body[..inner], is_told, is_all: true, is_cut, ..*place };
            if let Some((bytes, calls)) = dialect.in_fence(&place) {
                let read = if end.is_some() { whole } else { line.len() + bytes };
                return Some(Next::Heed(0, super::calls(read, calls), Some(*dialect)));
            }
        }
        match (self.just_called, body.trim().is_empty()) {
            // What is left of a fence that closes what was never opened.
            (true, true) => Some(Next::Skip(line.len())),
            (true, false) if end.is_none() && info.is_empty() => Some(Next::Skip(line.len())),
            (true, false) => Some(Next::Heed(0, Sight::MadeUp, None)),
            (false, _) => Some(Next::Say(whole)),
        }
    }

    /// Does what a sight means. Returns its bytes.
    fn heed(&mut self, rest: &str, sight: Sight, dialect: Option<&'static dyn Dialect>) -> usize {
        match sight {
            Sight::Calls(bytes, text, calls) => {
                self.say(&text);
                self.read.is_quoted |= self.in_quote;
                self.read.calls.extend(calls);
                self.read.dialect = self.read.dialect.or(dialect);
                self.just_called = true;
                bytes
            }
            Sight::Said(bytes, text) => {
                self.say(&text);
                bytes
            }
            Sight::MadeUp => {
                self.is_over = true;
                self.read.is_made_up = true;
                rest.len()
            }
            Sight::Nothing | Sight::Open | Sight::Plain(_) => 0,
        }
    }

    fn say(&mut self, text: &str) {
        let kept = text.trim_end();
        if !kept.is_empty() {
            self.read.is_followed |= !self.read.calls.is_empty();
            let kept = if self.just_called { self.part(kept) } else { kept };
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

    /// Makes the blanks around a call those between two parts of a text; the text without its own.
    fn part<'a>(&mut self, text: &'a str) -> &'a str {
        let kept = text.trim_start();
        self.blanks.push_str(&text[..text.len() - kept.len()]);
        let between = if self.blanks.contains('\n') { "\n\n" } else { " " };
        let is_first = self.read.text.is_empty();
        self.blanks = if is_first { String::new() } else { between.to_owned() };
        kept
    }

    fn pass(&mut self, text: &str) {
        self.code.pass(text);
        self.known = self.known.saturating_sub(text.len());
        self.is_line = text.ends_with('\n');
    }
}

/// What a place begins with, in whichever dialect.
fn sight(reader: &Reader<'_>, place: &Place<'_>) -> (Sight, Option<&'static dyn Dialect>) {
    let (mut open, mut plain) = (false, 0);
    let told = reader.told.into_iter();
    let others = DIALECTS.into_iter().filter(|one| !is(reader.told, *one));
    for dialect in told.chain(others) {
        match dialect.at_start(&Place { is_told: is(reader.told, dialect), ..*place }) {
            Sight::Nothing => {}
            Sight::Open => open = true,
            Sight::Plain(bytes) => plain = plain.max(bytes),
            sight => return (sight, Some(dialect)),
        }
    }
    match (open && !place.is_all, plain) {
        (true, _) => (Sight::Open, None),
        (false, 0) => (Sight::Nothing, None),
        (false, bytes) => (Sight::Plain(bytes), None),
    }
}

fn is(told: Option<&dyn Dialect>, dialect: &dyn Dialect) -> bool {
    told.is_some_and(|told| told.name() == dialect.name())
}

/// Where the body of a block ends, and where what follows it begins.
fn closing(body: &str, mark: char, length: usize) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if let Some((found, ticks, info)) = code::fence(line)
            && found == mark
            && ticks >= length
            && info.trim().is_empty()
        {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}
