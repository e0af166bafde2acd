//! Decides which parts of an answer people see while it is written.
//!
//! After the model has read untrusted text, an answer that would leak is withheld until a person
//! approves it. So the growing text passes the same check, part by part: a sentence, a paragraph or
//! a block of code is shown once it is complete, and the text up to its end leaks nothing. After
//! the first leak nothing more is shown.

use avocet_protocol::model::Delta;
use avocet_protocol::tool::{ToolContext, Toolbox};
use avocet_protocol::turn::TurnEvent;
use avocet_text::complete_beginning;
use parking_lot::Mutex;

/// A checked text must grow by at least one part in so many until it is checked again, so that the
/// work for a long answer stays small.
const LEAST_GROWTH: usize = 16;

/// The visibility of an answer while it is written.
pub(crate) enum AnswerView<'a> {
    /// The model has read trusted text only.
    Whole,
    /// The text is checked part by part. Thoughts are hidden.
    Checked { toolbox: &'a dyn Toolbox, context: Box<ToolContext>, text: Mutex<CheckedText> },
}

impl<'a> AnswerView<'a> {
    /// Makes a view whose text passes the check of answers.
    pub(crate) fn checked(toolbox: &'a dyn Toolbox, context: ToolContext) -> Self {
        Self::Checked { toolbox, context: Box::new(context), text: Mutex::default() }
    }

    /// Returns the event that shows a piece of an answer; `None` if nothing is shown for now.
    pub(crate) fn event_of(&self, delta: Delta<'_>) -> Option<TurnEvent> {
        match (self, delta) {
            (_, Delta::Retry(_) | Delta::Lost(_)) => None,
            (Self::Whole, Delta::Text(text)) => Some(TurnEvent::Text { delta: text.to_owned() }),
            (Self::Whole, Delta::Thought(text)) => {
                Some(TurnEvent::Thought { delta: text.to_owned() })
            }
            (Self::Whole, Delta::Restart) => Some(TurnEvent::Restarted),
            (Self::Checked { .. }, Delta::Thought(_)) => None,
            (Self::Checked { toolbox, context, text }, Delta::Text(more)) => {
                let is_allowed = |text: &str| toolbox.hold(text, context).is_none();
                let delta = text.lock().push_text(more, is_allowed)?;
                Some(TurnEvent::Text { delta })
            }
            (Self::Checked { text, .. }, Delta::Restart) => {
                let before = std::mem::take(&mut *text.lock());
                (before.shown > 0).then_some(TurnEvent::Restarted)
            }
        }
    }
}

/// A growing text, and the part of it that is shown.
#[derive(Debug, Default)]
pub(crate) struct CheckedText {
    text: String,
    /// Bytes from the beginning.
    shown: usize,
    /// `true` after the first leak.
    is_over: bool,
}

impl CheckedText {
    /// Adds text. Returns the parts that are complete now, if they may be shown.
    fn push_text(&mut self, more: &str, is_allowed: impl Fn(&str) -> bool) -> Option<String> {
        if self.is_over {
            return None;
        }
        self.text.push_str(more);
        // Shown text ends outside of code and brackets.
        let end = self.shown + complete_beginning(&self.text[self.shown..]);
        if end == self.shown || end < self.shown + self.shown / LEAST_GROWTH {
            return None;
        }
        if !is_allowed(&self.text[..end]) {
            *self = Self { shown: self.shown, is_over: true, text: String::new() };
            return None;
        }
        let parts = self.text[self.shown..end].to_owned();
        self.shown = end;
        Some(parts)
    }
}

#[cfg(test)]
#[path = "answer_view_tests.rs"]
mod tests;
