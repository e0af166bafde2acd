//! Hides parts of a model's answer from people: reasoning in tags, and the control tokens of model
//! families. Works while the answer streams. Code is kept unchanged.

mod calls;
pub(crate) mod code;
mod control_tokens;
pub(crate) mod tokens;

use avocet_protocol::Delta;

use code::Code;
use control_tokens::{ControlToken, ControlTokenMatch};

/// Undecided text of fewer bytes is read again with each piece.
const SHORT: usize = 1024;

/// Removes hidden parts from a streamed answer. The result is the same however the answer is
/// divided.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// The visible text so far.
    text: String,
    /// Received text that is still undecided.
    open: String,
    /// The length of `open` at which reading is tried again.
    patience: usize,
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
    Answer,
    /// Reasoning, nested this many tags deep.
    Reasoning(usize),
    /// A message on a channel other than the final one, or of another role.
    Aside,
    /// The user's next message, invented by the model. Everything after it is ignored.
    Invented,
    /// A call that is kept, up to one of these end tokens.
    Call(&'static [&'static str]),
}

/// The next step of the reader. Lengths are in bytes.
enum VisibleStep {
    /// Visible text.
    Show(usize),
    /// Hidden text.
    Hide(usize),
    Control(usize, ControlToken),
    /// The opening of a call, which ends before one of these tokens.
    Call(usize, &'static [&'static str]),
    /// The end of a call.
    CallEnd,
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
        if self.open.len() < self.patience {
            return;
        }
        self.read(false, show);
        // Long undecided text is read again at growing intervals, so that the cost stays a multiple
        // of its length.
        self.patience = match self.open.len() {
            short @ ..SHORT => short,
            long => long + long / 8,
        };
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
                VisibleStep::Call(bytes, ends) => {
                    self.part = AnswerPart::Call(ends);
                    self.push_text(&rest[..bytes]);
                    bytes
                }
                VisibleStep::CallEnd => {
                    self.part = AnswerPart::Answer;
                    0
                }
                VisibleStep::Show(bytes) => {
                    self.push_text(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Hide(bytes) => {
                    self.hide(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Control(bytes, token) => {
                    if self.apply(token) {
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
            AnswerPart::Answer => self.next_in_answer(rest, is_all),
            AnswerPart::Invented => VisibleStep::Hide(rest.len()),
            AnswerPart::Aside if self.keeps_calls => {
                Self::next_call(rest, is_all).unwrap_or_else(|| Self::next_hidden(rest, is_all))
            }
            AnswerPart::Reasoning(_) | AnswerPart::Aside => Self::next_hidden(rest, is_all),
            AnswerPart::Call(ends) => match calls::end(rest, ends, is_all) {
                Ok(0) => VisibleStep::CallEnd,
                Err(0) => VisibleStep::Wait,
                Ok(bytes) | Err(bytes) => VisibleStep::Show(bytes),
            },
        }
    }

    /// The next step if a call begins here, `None` otherwise.
    fn next_call(rest: &str, is_all: bool) -> Option<VisibleStep> {
        match calls::at_start(rest, is_all) {
            calls::CallMatch::Call(bytes, ends) => Some(VisibleStep::Call(bytes, ends)),
            calls::CallMatch::Open => Some(VisibleStep::Wait),
            calls::CallMatch::Nothing => None,
        }
    }

    fn next_in_answer(&mut self, rest: &str, is_all: bool) -> VisibleStep {
        // Once per line, however many control tokens may begin in it.
        if self.known == 0 {
            match self.code.cross(rest, is_all) {
                code::CodeStep::Code(bytes) => return VisibleStep::Show(bytes),
                code::CodeStep::Wait => return VisibleStep::Wait,
                code::CodeStep::Text(bytes) => self.known = bytes,
            }
        }
        match control_tokens::find(&rest[..self.known]) {
            Some(0) => match control_tokens::at_start(rest, is_all) {
                _ if self.keeps_calls
                    && let Some(next) = Self::next_call(rest, is_all) =>
                {
                    next
                }
                ControlTokenMatch::Token(bytes, token) => VisibleStep::Control(bytes, token),
                ControlTokenMatch::Open => VisibleStep::Wait,
                ControlTokenMatch::Nothing => VisibleStep::Show(control_tokens::opener_bytes(rest)),
            },
            Some(before) => VisibleStep::Show(before),
            None => VisibleStep::Show(self.known),
        }
    }

    fn next_hidden(rest: &str, is_all: bool) -> VisibleStep {
        match control_tokens::find(rest) {
            Some(0) => match control_tokens::at_start(rest, is_all) {
                ControlTokenMatch::Token(bytes, token) => VisibleStep::Control(bytes, token),
                ControlTokenMatch::Open => VisibleStep::Wait,
                ControlTokenMatch::Nothing => VisibleStep::Hide(control_tokens::opener_bytes(rest)),
            },
            Some(before) => VisibleStep::Hide(before),
            None => VisibleStep::Hide(rest.len()),
        }
    }

    fn push_text(&mut self, text: &str) {
        self.code.pass(text);
        self.known = self.known.saturating_sub(text.len());
        let is_first = self.has_hidden && self.text.trim().is_empty();
        let text = if is_first { text.trim_start() } else { text };
        self.text.push_str(text);
    }

    fn hide(&mut self, text: &str) {
        self.has_hidden = true;
        self.known = 0;
        self.last_hidden = text.chars().next_back().or(self.last_hidden);
    }

    /// Applies a control token in its context. Returns `true` if everything before it was
    /// reasoning.
    fn apply(&mut self, token: ControlToken) -> bool {
        use AnswerPart::{Answer, Aside, Invented, Reasoning};
        self.part = match (self.part, token) {
            (Answer, ControlToken::Think) => Reasoning(1),
            // A tag that the reasoning only quotes needs no closing tag.
            (Reasoning(deep), ControlToken::Think)
                if !control_tokens::is_quoted(self.last_hidden) =>
            {
                Reasoning(deep + 1)
            }
            (Reasoning(deep @ 2..), ControlToken::ThinkEnd) => Reasoning(deep - 1),
            (Reasoning(1), ControlToken::ThinkEnd) => Answer,
            (Answer, ControlToken::ThinkEnd) => {
                self.text.clear();
                self.code = Code::default();
                return true;
            }
            (part @ (Reasoning(_) | AnswerPart::Call(_)), _) => part,
            (_, ControlToken::Final | ControlToken::End | ControlToken::Assistant) => Answer,
            (_, ControlToken::Aside) => Aside,
            (_, ControlToken::User) => Invented,
            (part, ControlToken::Think | ControlToken::ThinkEnd | ControlToken::Word) => part,
        };
        false
    }
}

#[cfg(test)]
#[path = "visible_tests.rs"]
mod tests;
