//! The keys of the person, the typed line, and the focus of the window.

use avocet_text::printable;

use super::LiveScreen;
use crate::key::Key;
use crate::line::{CompletionCandidate, LineEffect};

impl LiveScreen {
    /// Changes the line, or the list of calls.
    pub(crate) fn press_key(&mut self, key: &Key) -> LineEffect {
        self.hint = None;
        if matches!(key, Key::FocusIn | Key::FocusOut) {
            self.has_focus = *key == Key::FocusIn;
            return LineEffect::Edited;
        }
        if self.pager.is_some() {
            self.press_in_pager(key);
            return LineEffect::Edited;
        }
        if *key == Key::Unfold {
            self.open_pager();
            return LineEffect::Edited;
        }
        let effect = self.line.press_key(key);
        if effect == LineEffect::ClearScreen {
            self.painter.clear();
            return LineEffect::Edited;
        }
        effect
    }

    /// Offers whole lines below the empty line.
    pub(crate) fn offer_lines(&mut self, candidates: Vec<CompletionCandidate>) {
        self.line.offer_lines(candidates);
    }

    /// Shows a hint in place of the status, until the next key.
    pub(crate) fn show_hint(&mut self, hint: &'static str) {
        self.hint = Some(hint);
    }

    pub(crate) fn clear_line(&mut self) -> bool {
        self.line.clear()
    }

    /// Returns the typed text.
    pub(crate) fn line_text(&self) -> String {
        self.line.whole_text()
    }

    /// Replaces the typed text.
    pub(crate) fn replace_line(&mut self, text: &str) {
        self.line.replace_text(printable(text.trim_end()).into_owned());
    }

    /// Calls the person, if another window has the focus. `text` is a text of the program.
    pub(crate) fn call_person(&mut self, text: &'static str) {
        if !self.has_focus {
            self.painter.call_person(self.sign, text);
        }
    }

    /// Leaves the terminal to another program until [`Self::resume_painting`].
    pub(crate) fn pause_painting(&mut self) {
        self.hide_region();
        self.is_paused = true;
    }

    pub(crate) fn resume_painting(&mut self) {
        self.is_paused = false;
    }
}
