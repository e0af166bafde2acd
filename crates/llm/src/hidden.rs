//! Hides parts of a model's answer from people: reasoning in tags, and the control tokens of model
//! families. Works while the answer streams. Code is kept unchanged.

pub(crate) mod code;
mod kept;
mod mark;

use avocet_protocol::Delta;

use code::Code;
use mark::{Mark, MarkMatch};

/// Removes hidden parts from a streamed answer. The result is the same however the answer is
/// divided.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// The visible text so far.
    text: String,
    /// Received text that is still undecided.
    open: String,
    part: AnswerPart,
    /// `true` after something was hidden: blanks before the first visible word are removed with it.
    has_hidden: bool,
    /// The last hidden character.
    last_hidden: Option<char>,
    /// The Markdown code state at the start of `open`.
    code: Code,
    /// The number of bytes at the start of `open` that are outside of code.
    known: usize,
    /// `true` if calls that are written as text are kept.
    keeps_calls: bool,
}

/// The part of an answer that the text belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AnswerPart {
    /// Visible text.
    #[default]
    Said,
    /// Reasoning, nested this many tags deep.
    Reasoning(usize),
    /// A message on a channel other than the final one, or of another role.
    Aside,
    /// The user's next message, invented by the model. Everything after it is ignored.
    MadeUp,
    /// A call that is kept, up to one of these end tokens.
    Call(&'static [&'static str]),
}

/// The next step of the reader. Lengths are in bytes.
enum VisibleStep {
    /// Visible text.
    Show(usize),
    /// Hidden text.
    Hide(usize),
    Mark(usize, Mark),
    /// The opening of a call, which ends before one of these tokens.
    Keep(usize, &'static [&'static str]),
    /// The end of a call.
    Kept,
    /// The decision needs more text.
    Wait,
}

/// The visible part of a complete text.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = Visible::default();
    visible.push(text, |_| ());
    visible.finish(|_| ())
}

impl Visible {
    /// Creates a filter that keeps calls written as text, for the dialect reader after it.
    pub(crate) fn keeping_calls() -> Self {
        Self { keeps_calls: true, ..Self::default() }
    }

    /// Processes the next piece. Shows its visible part, and takes back earlier text that turns out
    /// to have been reasoning.
    pub(crate) fn push(&mut self, piece: &str, show: impl Fn(Delta<'_>)) {
        self.open.push_str(piece);
        self.read(false, show);
    }

    /// Ends the answer and returns the visible text.
    pub(crate) fn finish(mut self, show: impl Fn(Delta<'_>)) -> String {
        self.read(true, show);
        self.text
    }

    fn read(&mut self, is_all: bool, show: impl Fn(Delta<'_>)) {
        let open = std::mem::take(&mut self.open);
        let (mut at, mut shown, mut taken_back) = (0, self.text.len(), false);
        while at < open.len() {
            let rest = &open[at..];
            at += match self.next(rest, is_all) {
                VisibleStep::Wait => break,
                VisibleStep::Keep(bytes, ends) => {
                    self.part = AnswerPart::Call(ends);
                    self.say(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Kept => {
                    self.part = AnswerPart::Said;
                    0
                }
                VisibleStep::Show(bytes) => {
                    self.say(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Hide(bytes) => {
                    self.hide(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Mark(bytes, mark) => {
                    if self.heed(mark) {
                        (shown, taken_back) = (0, true);
                    }
                    self.hide(&rest[..bytes]);
                    bytes
                }
            };
        }
        open[at..].clone_into(&mut self.open);
        if taken_back {
            show(Delta::Restart);
        }
        show(Delta::Text(&self.text[shown..]));
    }

    fn next(&mut self, rest: &str, is_all: bool) -> VisibleStep {
        match self.part {
            AnswerPart::Said => self.next_said(rest, is_all),
            AnswerPart::MadeUp => VisibleStep::Hide(rest.len()),
            AnswerPart::Aside if self.keeps_calls => {
                Self::next_call(rest, is_all).unwrap_or_else(|| Self::next_hidden(rest, is_all))
            }
            AnswerPart::Reasoning(_) | AnswerPart::Aside => Self::next_hidden(rest, is_all),
            AnswerPart::Call(ends) => match kept::end(rest, ends, is_all) {
                Ok(0) => VisibleStep::Kept,
                Err(0) => VisibleStep::Wait,
                Ok(bytes) | Err(bytes) => VisibleStep::Show(bytes),
            },
        }
    }

    /// The next step if a call begins here, `None` otherwise.
    fn next_call(rest: &str, is_all: bool) -> Option<VisibleStep> {
        match kept::at_start(rest, is_all) {
            kept::CallMatch::Call(bytes, ends) => Some(VisibleStep::Keep(bytes, ends)),
            kept::CallMatch::Open => Some(VisibleStep::Wait),
            kept::CallMatch::Nothing => None,
        }
    }

    fn next_said(&mut self, rest: &str, is_all: bool) -> VisibleStep {
        // Once per line, however many marks may begin in it.
        if self.known == 0 {
            match self.code.cross(rest, is_all) {
                code::CodeStep::Code(bytes) => return VisibleStep::Show(bytes),
                code::CodeStep::Wait => return VisibleStep::Wait,
                code::CodeStep::Text(bytes) => self.known = bytes,
            }
        }
        match mark::find(&rest[..self.known]) {
            Some(0) => match mark::at_start(rest, is_all) {
                _ if self.keeps_calls
                    && let Some(next) = Self::next_call(rest, is_all) =>
                {
                    next
                }
                MarkMatch::Mark(bytes, mark) => VisibleStep::Mark(bytes, mark),
                MarkMatch::Open => VisibleStep::Wait,
                MarkMatch::Nothing => VisibleStep::Show(mark::opener_bytes(rest)),
            },
            Some(before) => VisibleStep::Show(before),
            None => VisibleStep::Show(self.known),
        }
    }

    fn next_hidden(rest: &str, is_all: bool) -> VisibleStep {
        match mark::find(rest) {
            Some(0) => match mark::at_start(rest, is_all) {
                MarkMatch::Mark(bytes, mark) => VisibleStep::Mark(bytes, mark),
                MarkMatch::Open => VisibleStep::Wait,
                MarkMatch::Nothing => VisibleStep::Hide(mark::opener_bytes(rest)),
            },
            Some(before) => VisibleStep::Hide(before),
            None => VisibleStep::Hide(rest.len()),
        }
    }

    fn say(&mut self, text: &str) {
        self.code.pass(text);
        self.known = self.known.saturating_sub(text.len());
        let text = match self.has_hidden && self.text.trim().is_empty() {
            true => text.trim_start(),
            false => text,
        };
        self.text.push_str(text);
    }

    fn hide(&mut self, text: &str) {
        self.has_hidden = true;
        self.known = 0;
        self.last_hidden = text.chars().next_back().or(self.last_hidden);
    }

    /// Applies a mark in its context. Returns `true` if everything before it was reasoning.
    fn heed(&mut self, mark: Mark) -> bool {
        use AnswerPart::{Aside, MadeUp, Reasoning, Said};
        self.part = match (self.part, mark) {
            (Said, Mark::Think) => Reasoning(1),
            // A tag that the reasoning only quotes needs no closing tag.
            (Reasoning(deep), Mark::Think) if !mark::is_quoted(self.last_hidden) => {
                Reasoning(deep + 1)
            }
            (Reasoning(deep @ 2..), Mark::ThinkEnd) => Reasoning(deep - 1),
            (Reasoning(1), Mark::ThinkEnd) => Said,
            (Said, Mark::ThinkEnd) => {
                self.text.clear();
                self.code = Code::default();
                return true;
            }
            (part @ (Reasoning(_) | AnswerPart::Call(_)), _) => part,
            (_, Mark::Final | Mark::End | Mark::Assistant) => Said,
            (_, Mark::Aside) => Aside,
            (_, Mark::User) => MadeUp,
            (part, Mark::Think | Mark::ThinkEnd | Mark::Word) => part,
        };
        false
    }
}

#[cfg(test)]
#[path = "hidden_tests.rs"]
mod tests;
