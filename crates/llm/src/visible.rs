//! Hides parts of a model's answer from people: reasoning in tags, and the control tokens of model
//! families. Works while the answer streams. Code is kept unchanged.

mod calls;
pub(crate) mod code;
mod control_tokens;
pub(crate) mod tokens;

use avocet_protocol::model::Delta;

use calls::CallEnds;
use code::CodeTracker;
use control_tokens::{ControlToken, ControlTokenMatch};

use crate::dialects::{ReplyReader, TextEnd};

/// Undecided text of fewer bytes is read again with each piece.
const SHORT: usize = 1024;

/// Removes hidden parts from a streamed answer. The result is the same however the answer is
/// divided.
#[derive(Debug)]
pub(crate) struct VisibleText {
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
    code: CodeTracker,
    /// The number of bytes at the start of `open` that are outside of code.
    known: usize,
    /// `true` if calls that are written as text are kept.
    keeps_calls: bool,
    /// Calls inside of the current reasoning. They count only if it never ends.
    thought_calls: String,
    /// The ends of the call inside of the reasoning that the text belongs to.
    thought_call: Option<CallEnds>,
    first: FirstMessage,
    /// The number of open tags around the answer.
    wraps: usize,
}

/// The part of an answer that the text belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AnswerPart {
    /// Visible text.
    #[default]
    Answer,
    /// Reasoning, nested this many tags deep.
    Reasoning(usize),
    /// Reasoning in a section of its own.
    Thoughts,
    /// A message on a channel other than the final one, or of another role.
    Aside,
    /// The user's next message, invented by the model. Everything after it is ignored.
    Invented,
    /// A call that is kept, up to one of these end tokens.
    Call(CallEnds),
}

/// The text before the first token that marks an answer. It is reasoning if an answer follows in a
/// message of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstMessage {
    Unmarked,
    /// A token ended the message.
    Ended,
    /// The text is an answer: the model marked it, or it has a call.
    Answer,
}

/// The next step of the reader. Lengths are in bytes.
enum VisibleStep {
    /// Visible text.
    Show(usize),
    /// Hidden text.
    Hide(usize),
    Control(usize, ControlToken),
    /// The opening of a call, which ends before one of these tokens.
    Call(usize, CallEnds),
    CallEnd,
    /// A part of a call inside of reasoning.
    Keep(usize),
    /// The closing token of such a call.
    KeepEnd(usize),
    /// The decision needs more text.
    Wait,
}

/// The visible part of a complete text.
pub(crate) fn visible_text(text: &str) -> String {
    let mut visible = VisibleText::default();
    visible.push(text, |_| ());
    visible.finish_text(|_| ())
}

impl Default for VisibleText {
    fn default() -> Self {
        Self {
            text: String::new(),
            open: String::new(),
            patience: 0,
            part: AnswerPart::Answer,
            has_hidden: false,
            last_hidden: None,
            code: CodeTracker::default(),
            known: 0,
            keeps_calls: false,
            thought_calls: String::new(),
            thought_call: None,
            first: FirstMessage::Unmarked,
            wraps: 0,
        }
    }
}

impl VisibleText {
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
    pub(crate) fn finish_text(mut self, show: impl Fn(Delta<'_>)) -> String {
        self.read(true, show);
        self.text
    }

    fn read(&mut self, is_all: bool, show: impl Fn(Delta<'_>)) {
        let open = std::mem::take(&mut self.open);
        let (mut at, mut shown, mut taken_back) = (0, self.text.len(), false);
        let mut thought = String::new();
        while at < open.len() {
            let rest = &open[at..];
            at += match self.next(rest, is_all) {
                VisibleStep::Wait => break,
                VisibleStep::Call(bytes, ends) if self.is_thinking() => {
                    self.thought_call = Some(ends);
                    self.keep_thought_call(&rest[..bytes])
                }
                VisibleStep::Call(bytes, ends) => {
                    self.part = AnswerPart::Call(ends);
                    self.first = FirstMessage::Answer;
                    self.push_text(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Keep(bytes) => self.keep_thought_call(&rest[..bytes]),
                VisibleStep::KeepEnd(bytes) => {
                    self.thought_call = None;
                    self.keep_thought_call(&rest[..bytes])
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
                    if self.is_thinking() {
                        thought.push_str(&rest[..bytes]);
                    }
                    self.hide_text(&rest[..bytes]);
                    bytes
                }
                VisibleStep::Control(bytes, token) => {
                    if self.apply_token(token) {
                        (shown, taken_back) = (0, true);
                    }
                    self.hide_text(&rest[..bytes]);
                    bytes
                }
            };
        }
        open[at..].clone_into(&mut self.open);
        if is_all {
            self.release_thought_calls();
        }
        show(Delta::Thought(&thought));
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
            AnswerPart::Reasoning(_) | AnswerPart::Thoughts if self.keeps_calls => {
                self.next_in_thought(rest, is_all)
            }
            AnswerPart::Reasoning(_) | AnswerPart::Thoughts | AnswerPart::Aside => {
                Self::next_hidden(rest, is_all)
            }
            AnswerPart::Call(ends) => match calls::end_of_call(rest, ends, is_all) {
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
            match self.code.cross_start(rest, is_all) {
                code::CodeStep::Code(bytes) => return VisibleStep::Show(bytes),
                code::CodeStep::Wait => return VisibleStep::Wait,
                code::CodeStep::Text(bytes) => self.known = bytes,
            }
        }
        match control_tokens::find_token_start(&rest[..self.known]) {
            Some(0) => match control_tokens::at_start(rest, is_all) {
                _ if self.keeps_calls
                    && let Some(next) = Self::next_call(rest, is_all) =>
                {
                    next
                }
                ControlTokenMatch::Token(bytes, token) if self.is_shown(token, &rest[..bytes]) => {
                    VisibleStep::Show(bytes)
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
        match control_tokens::find_token_start(rest) {
            Some(0) => match control_tokens::at_start(rest, is_all) {
                ControlTokenMatch::Token(bytes, token) => VisibleStep::Control(bytes, token),
                ControlTokenMatch::Open => VisibleStep::Wait,
                ControlTokenMatch::Nothing => VisibleStep::Hide(control_tokens::opener_bytes(rest)),
            },
            Some(before) => VisibleStep::Hide(before),
            None => VisibleStep::Hide(rest.len()),
        }
    }

    /// The next step inside of reasoning whose calls are kept apart.
    fn next_in_thought(&self, rest: &str, is_all: bool) -> VisibleStep {
        let Some(ends) = self.thought_call else {
            let call = Self::next_call(rest, is_all);
            return call.unwrap_or_else(|| Self::next_hidden(rest, is_all));
        };
        let (mut bytes, is_end) = match calls::end_of_call(rest, ends, is_all) {
            Ok(bytes) => (bytes, true),
            Err(bytes) => (bytes, false),
        };
        if bytes == 0 {
            let closing = ends.closing_bytes(rest, is_all).filter(|_| is_end);
            return closing.map_or(VisibleStep::Wait, VisibleStep::KeepEnd);
        }
        // Reasoning that ends inside of a call only mentioned its opening.
        let mut at = 0;
        while let Some(before) = control_tokens::find_token_start(&rest[at..bytes]) {
            at += before;
            match control_tokens::at_start(&rest[at..], is_all) {
                ControlTokenMatch::Token(length, token) if self.ends_thought(token) => {
                    if at == 0 {
                        return VisibleStep::Control(length, token);
                    }
                    bytes = at;
                }
                ControlTokenMatch::Open if at == 0 => return VisibleStep::Wait,
                ControlTokenMatch::Open => bytes = at,
                ControlTokenMatch::Token(..) | ControlTokenMatch::Nothing => {
                    at += control_tokens::opener_bytes(&rest[at..]);
                }
            }
        }
        VisibleStep::Keep(bytes)
    }

    fn ends_thought(&self, token: ControlToken) -> bool {
        let is_final = token == ControlToken::Final && self.part == AnswerPart::Thoughts;
        is_final || token == ControlToken::ThinkEnd
    }

    fn is_thinking(&self) -> bool {
        matches!(self.part, AnswerPart::Reasoning(_) | AnswerPart::Thoughts)
    }

    /// Returns `true` if a tag is a part of the text. Tags around an answer are hidden only where
    /// an answer begins or ends.
    fn is_shown(&self, token: ControlToken, tag: &str) -> bool {
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        match token {
            ControlToken::Wrap => {
                let is_begin = self.has_hidden && line.trim().is_empty();
                !is_begin && !self.text.trim().is_empty()
            }
            ControlToken::WrapEnd => self.wraps == 0 && self.text.contains(&tag.replace('/', "")),
            _ => false,
        }
    }

    /// Keeps a part of a call inside of reasoning. Returns its length in bytes.
    fn keep_thought_call(&mut self, text: &str) -> usize {
        self.thought_calls.push_str(text);
        self.hide_text(text);
        text.len()
    }

    /// Adds the calls inside of reasoning that did not end to the text. Reasoning that only mentions
    /// the markup of calls has none.
    fn release_thought_calls(&mut self) {
        let calls = std::mem::take(&mut self.thought_calls);
        self.thought_call = None;
        let reader = ReplyReader::new(None, &[]);
        if !calls.is_empty() && !reader.read(&calls, TextEnd::Complete).calls.is_empty() {
            self.first = FirstMessage::Answer;
            self.push_text(&calls);
        }
    }

    fn push_text(&mut self, text: &str) {
        self.code.pass_text(text);
        self.known = self.known.saturating_sub(text.len());
        let is_first = self.has_hidden && self.text.trim().is_empty();
        let text = if is_first { text.trim_start() } else { text };
        self.text.push_str(text);
    }

    fn hide_text(&mut self, text: &str) {
        self.has_hidden = true;
        self.known = 0;
        self.last_hidden = text.chars().next_back().or(self.last_hidden);
    }

    /// Applies a control token in its context. Returns `true` if everything before it was
    /// reasoning.
    fn apply_token(&mut self, token: ControlToken) -> bool {
        use AnswerPart::{Answer, Aside, Call, Invented, Reasoning, Thoughts};
        let before = self.part;
        self.part = match (before, token) {
            (Answer, ControlToken::Think) => Reasoning(1),
            // A tag that the reasoning only quotes needs no closing tag.
            (Reasoning(deep), ControlToken::Think)
                if !control_tokens::is_quoted(self.last_hidden) =>
            {
                Reasoning(deep + 1)
            }
            (Reasoning(deep @ 2..), ControlToken::ThinkEnd) => Reasoning(deep - 1),
            (Reasoning(1) | Thoughts, ControlToken::ThinkEnd) => Answer,
            (Answer, ControlToken::ThinkEnd) => return self.take_back(),
            (part @ (Reasoning(_) | Call(_)), _) => part,
            (Answer, ControlToken::Final) if self.first == FirstMessage::Ended => {
                self.first = FirstMessage::Answer;
                return self.take_back();
            }
            (Answer, ControlToken::End | ControlToken::Assistant)
                if self.first == FirstMessage::Unmarked && !self.text.is_empty() =>
            {
                self.first = FirstMessage::Ended;
                Answer
            }
            (_, ControlToken::Final | ControlToken::End | ControlToken::Assistant) => Answer,
            (_, ControlToken::Aside) => Aside,
            (_, ControlToken::Thoughts) => Thoughts,
            (_, ControlToken::User) => Invented,
            (part, ControlToken::Wrap) => {
                self.wraps += usize::from(part == Answer);
                part
            }
            (part, ControlToken::WrapEnd) => {
                self.wraps = self.wraps.saturating_sub(usize::from(part == Answer));
                part
            }
            (part, ControlToken::Think | ControlToken::ThinkEnd | ControlToken::Word) => part,
        };
        let has_ended = self.part != before && !self.is_thinking();
        match token {
            ControlToken::ThinkEnd | ControlToken::Final if has_ended => {
                self.thought_calls.clear();
                self.thought_call = None;
            }
            ControlToken::Final => self.first = FirstMessage::Answer,
            _ if has_ended => self.release_thought_calls(),
            _ => {}
        }
        false
    }

    /// Discards the text so far, which was reasoning without an opening. Returns `true` if
    /// something may have been shown.
    fn take_back(&mut self) -> bool {
        let has_text = !self.text.is_empty();
        self.text.clear();
        self.code = CodeTracker::default();
        self.wraps = 0;
        has_text
    }
}

#[cfg(test)]
#[path = "visible_tests.rs"]
mod tests;
