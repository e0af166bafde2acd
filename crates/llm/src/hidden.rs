//! What a model writes that no person is meant to see: reasoning in tags, and the control words of
//! model families. It is taken out while the answer streams; code keeps every word.

pub(crate) mod code;
mod kept;
mod mark;

use avocet_protocol::Delta;

use code::Code;
use mark::{Mark, Sight};

/// Takes what is hidden out of an answer, however it is cut into pieces.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// What may be seen so far.
    text: String,
    /// What has come and cannot be judged yet.
    open: String,
    part: Part,
    /// Something was hidden: blanks before the first visible word go with it.
    has_hidden: bool,
    /// The last character that was hidden.
    last_hidden: Option<char>,
    /// Where the open text stands between code and other text.
    code: Code,
    /// So many bytes of the open text are no code.
    known: usize,
    /// Calls that are written as text are left as they stand.
    keeps_calls: bool,
}

/// In which part of an answer the text is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It is said.
    #[default]
    Said,
    /// It is reasoning, so many tags deep.
    Reasoning(usize),
    /// It is on another channel than the final one, or belongs to another role.
    Aside,
    /// It is what the model makes the user say next: nothing that follows counts.
    MadeUp,
    /// It is a call that is left as it stands, up to one of these words.
    Call(&'static [&'static str]),
}

/// How the open text goes on.
enum Next {
    /// So many bytes can be seen.
    Show(usize),
    /// So many bytes cannot.
    Hide(usize),
    /// So many bytes are a mark.
    Mark(usize, Mark),
    /// So many bytes begin a call, which ends before one of these words.
    Keep(usize, &'static [&'static str]),
    /// A call ends here.
    Kept,
    /// More has to come.
    Wait,
}

/// The visible part of a whole text.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = Visible::default();
    visible.push(text, |_| ());
    visible.finish(|_| ())
}

impl Visible {
    /// Leaves calls that are written as text, for a reader of dialects behind it.
    pub(crate) fn keeping_calls() -> Self {
        Self { keeps_calls: true, ..Self::default() }
    }

    /// Takes the next piece. Says what of it can be shown, and takes back what turns out to have
    /// been reasoning.
    pub(crate) fn push(&mut self, piece: &str, show: impl Fn(Delta<'_>)) {
        self.open.push_str(piece);
        self.read(false, show);
    }

    /// Everything has come.
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
                Next::Wait => break,
                Next::Keep(bytes, ends) => {
                    self.part = Part::Call(ends);
                    self.say(&rest[..bytes]);
                    bytes
                }
                Next::Kept => {
                    self.part = Part::Said;
                    0
                }
                Next::Show(bytes) => {
                    self.say(&rest[..bytes]);
                    bytes
                }
                Next::Hide(bytes) => {
                    self.hide(&rest[..bytes]);
                    bytes
                }
                Next::Mark(bytes, mark) => {
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

    fn next(&mut self, rest: &str, is_all: bool) -> Next {
        match self.part {
            Part::Said => self.next_said(rest, is_all),
            Part::MadeUp => Next::Hide(rest.len()),
            Part::Aside if self.keeps_calls => {
                Self::next_call(rest, is_all).unwrap_or_else(|| Self::next_hidden(rest, is_all))
            }
            Part::Reasoning(_) | Part::Aside => Self::next_hidden(rest, is_all),
            Part::Call(ends) => match kept::end(rest, ends, is_all) {
                Ok(0) => Next::Kept,
                Err(0) => Next::Wait,
                Ok(bytes) | Err(bytes) => Next::Show(bytes),
            },
        }
    }

    /// A call that is kept; none if none begins here.
    fn next_call(rest: &str, is_all: bool) -> Option<Next> {
        match kept::at_start(rest, is_all) {
            kept::Sight::Call(bytes, ends) => Some(Next::Keep(bytes, ends)),
            kept::Sight::Open => Some(Next::Wait),
            kept::Sight::Nothing => None,
        }
    }

    fn next_said(&mut self, rest: &str, is_all: bool) -> Next {
        // Once for a line, however many marks may begin in it.
        if self.known == 0 {
            match self.code.cross(rest, is_all) {
                code::Next::Code(bytes) => return Next::Show(bytes),
                code::Next::Wait => return Next::Wait,
                code::Next::Text(bytes) => self.known = bytes,
            }
        }
        match mark::find(&rest[..self.known]) {
            Some(0) => match mark::at_start(rest, is_all) {
                _ if self.keeps_calls
                    && let Some(next) = Self::next_call(rest, is_all) =>
                {
                    next
                }
                Sight::Mark(bytes, mark) => Next::Mark(bytes, mark),
                Sight::Open => Next::Wait,
                Sight::Nothing => Next::Show(mark::opener_bytes(rest)),
            },
            Some(before) => Next::Show(before),
            None => Next::Show(self.known),
        }
    }

    fn next_hidden(rest: &str, is_all: bool) -> Next {
        match mark::find(rest) {
            Some(0) => match mark::at_start(rest, is_all) {
                Sight::Mark(bytes, mark) => Next::Mark(bytes, mark),
                Sight::Open => Next::Wait,
                Sight::Nothing => Next::Hide(mark::opener_bytes(rest)),
            },
            Some(before) => Next::Hide(before),
            None => Next::Hide(rest.len()),
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

    /// What a mark means where it stands. True if everything before it was reasoning.
    fn heed(&mut self, mark: Mark) -> bool {
        use Part::{Aside, MadeUp, Reasoning, Said};
        self.part = match (self.part, mark) {
            (Said, Mark::Think) => Reasoning(1),
            // One that the reasoning only speaks of does not have to be closed.
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
            (part @ (Reasoning(_) | Part::Call(_)), _) => part,
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
