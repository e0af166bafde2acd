//! The line that is being typed: editing, history, completion. It may have several lines.

mod complete;
mod history;
mod paste;

use unicode_segmentation::UnicodeSegmentation;

use crate::key::Key;
pub use complete::Completer;
use complete::common_beginning;
pub(crate) use complete::{CompletionCandidate, OWN_COMMANDS};
pub(crate) use history::LineHistory;
pub(crate) use paste::FoldedTexts;

/// The effect of a key on the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineEffect {
    /// Only the line has changed.
    Edited,
    /// The line is complete.
    Line(String),
    Interrupt,
    Escape,
    End,
    ClearScreen,
    Suspend,
    /// Open the line in an editor.
    OpenEditor,
}

/// The candidates that are shown below the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletionMenu {
    /// The start of the completed word.
    start: usize,
    pub(crate) candidates: Vec<CompletionCandidate>,
    pub(crate) chosen: Option<usize>,
    /// `true` for a list of whole lines.
    takes_arrows: bool,
}

/// The search for an earlier line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineSearch {
    pub(crate) words: String,
    /// The number of the found line.
    found: Option<usize>,
}

/// The line that is being typed.
#[derive(Debug, Default)]
pub(crate) struct InputLine {
    text: String,
    /// The place of the cursor in `text`.
    cursor: usize,
    history: LineHistory,
    completer: Completer,
    /// The long texts of the line.
    folded: FoldedTexts,
    /// The earlier line that is shown, and the line that was typed before it.
    earlier: Option<(usize, String)>,
    /// The text that was removed last, for [`Key::Yank`].
    killed: String,
    menu: Option<CompletionMenu>,
    search: Option<LineSearch>,
}

impl InputLine {
    pub(crate) fn new(history: LineHistory, completer: Completer) -> Self {
        Self { history, completer, ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text with all that is folded.
    pub(crate) fn whole_text(&self) -> String {
        self.folded.unfold(&self.text)
    }

    pub(crate) fn folded_texts(&self) -> &FoldedTexts {
        &self.folded
    }

    /// Replaces the text.
    pub(crate) fn replace_text(&mut self, text: String) {
        self.clear();
        self.set_text(text);
    }

    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub(crate) fn menu(&self) -> Option<&CompletionMenu> {
        self.menu.as_ref()
    }

    pub(crate) fn search(&self) -> Option<&LineSearch> {
        self.search.as_ref()
    }

    /// Offers whole lines, which the arrows choose, too. Without effect if there is a text.
    pub(crate) fn offer_lines(&mut self, candidates: Vec<CompletionCandidate>) {
        if self.text.is_empty() && self.search.is_none() && !candidates.is_empty() {
            self.menu =
                Some(CompletionMenu { start: 0, candidates, chosen: None, takes_arrows: true });
            self.complete_word(1);
        }
    }

    /// Removes the text. Returns `true` if there was one.
    pub(crate) fn clear(&mut self) -> bool {
        let had_text = !self.text.is_empty();
        self.set_text(String::new());
        (self.earlier, self.menu, self.search) = (None, None, None);
        had_text
    }

    /// Shows a text again, unless there is another one already.
    pub(crate) fn restore_text(&mut self, text: &str) {
        if self.text.is_empty() && self.search.is_none() {
            self.set_text(text.to_owned());
        }
    }

    pub(crate) fn press_key(&mut self, key: &Key) -> LineEffect {
        if self.search.is_some() && self.press_in_search(key) {
            return LineEffect::Edited;
        }
        let is_list = self.menu.as_ref().is_some_and(|menu| menu.takes_arrows);
        match key {
            Key::Tab => self.complete_word(1),
            Key::BackTab => self.complete_word(-1),
            Key::Down if is_list => self.complete_word(1),
            Key::Up if is_list => self.complete_word(-1),
            Key::Escape if is_list => drop(self.clear()),
            Key::Resize | Key::FocusIn | Key::FocusOut => {}
            Key::Escape if self.menu.take().is_some() => {}
            _ => {
                self.menu = None;
                return self.edit_text(key);
            }
        }
        LineEffect::Edited
    }

    fn edit_text(&mut self, key: &Key) -> LineEffect {
        let cursor = self.cursor;
        match key {
            Key::Text(text) => {
                let text = self.folded.fold_paste(text);
                self.insert(&text);
            }
            Key::OpenEditor => return LineEffect::OpenEditor,
            Key::NewLine => self.insert("\n"),
            Key::Yank => self.insert(&self.killed.clone()),
            Key::Enter => return self.submit_line(),
            Key::Interrupt => return LineEffect::Interrupt,
            Key::Escape => return LineEffect::Escape,
            Key::ClearScreen => return LineEffect::ClearScreen,
            Key::Suspend => return LineEffect::Suspend,
            Key::EndOfInput if self.text.is_empty() => return LineEffect::End,
            Key::Backspace => self.remove_range(self.previous_position(), cursor),
            Key::Delete | Key::EndOfInput => self.remove_range(cursor, self.next_position()),
            Key::KillToEnd => self.kill_range(cursor, self.line_end()),
            Key::KillToStart => self.kill_range(self.line_start(), cursor),
            Key::KillWord => self.kill_range(self.word_left(), cursor),
            Key::Left => self.cursor = self.previous_position(),
            Key::Right => self.cursor = self.next_position(),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::Up => self.move_up(),
            Key::Down => self.move_down(),
            Key::Search => self.search = Some(LineSearch { words: String::new(), found: None }),
            Key::Tab
            | Key::BackTab
            | Key::Resize
            | Key::PageUp
            | Key::PageDown
            | Key::Unfold
            | Key::FocusIn
            | Key::FocusOut => {}
        }
        LineEffect::Edited
    }

    fn submit_line(&mut self) -> LineEffect {
        let line = self.whole_text();
        self.clear();
        if !line.trim().is_empty() {
            self.history.add_line(line.trim_end());
        }
        LineEffect::Line(line)
    }

    fn set_text(&mut self, text: String) {
        let text = self.folded.fold_line(text);
        self.cursor = text.len();
        self.text = text;
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove_range(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn kill_range(&mut self, from: usize, to: usize) {
        self.text[from..to].clone_into(&mut self.killed);
        self.remove_range(from, to);
    }

    fn previous_position(&self) -> usize {
        self.before_cursor().grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next_position(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let before = self.before_cursor().trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| at + 1)
    }

    fn word_right(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let word = rest.len() - rest.trim_start().len();
        rest[word..].find(char::is_whitespace).map_or(self.text.len(), |at| self.cursor + word + at)
    }

    fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Moves up a line of the text, or to an earlier text.
    fn move_up(&mut self) {
        let start = self.line_start();
        match start.checked_sub(1) {
            Some(end) => self.move_into(self.text[..end].rfind('\n').map_or(0, |at| at + 1), end),
            None => self.recall_line(-1),
        }
    }

    fn move_down(&mut self) {
        let end = self.line_end();
        if end == self.text.len() {
            return self.recall_line(1);
        }
        let start = end + 1;
        let length = self.text[start..].find('\n').unwrap_or(self.text.len() - start);
        self.move_into(start, start + length);
    }

    /// Moves the cursor into another line of the text, at the same distance from its start.
    fn move_into(&mut self, start: usize, end: usize) {
        let place = self.text[self.line_start()..self.cursor].graphemes(true).count();
        let line = &self.text[start..end];
        let at = line.grapheme_indices(true).nth(place).map_or(line.len(), |(at, _)| at);
        self.cursor = start + at;
    }

    /// Shows an earlier or later line of the history.
    fn recall_line(&mut self, step: isize) {
        let lines = self.history.lines();
        let at = self.earlier.as_ref().map_or(lines.len(), |(at, _)| *at);
        let Some(at) = at.checked_add_signed(step).filter(|at| *at <= lines.len()) else { return };
        let draft = match self.earlier.take() {
            Some((_, draft)) => draft,
            None => self.text.clone(),
        };
        match lines.get(at).cloned() {
            Some(line) => {
                self.set_text(line);
                self.earlier = Some((at, draft));
            }
            None => self.set_text(draft),
        }
    }

    /// Completes the word at the cursor, or moves in the menu.
    fn complete_word(&mut self, step: isize) {
        if let Some(menu) = &mut self.menu {
            let count = menu.candidates.len() as isize;
            let first = if step > 0 { 0 } else { count - 1 };
            let chosen = menu.chosen.map_or(first, |at| (at as isize + step).rem_euclid(count));
            menu.chosen = usize::try_from(chosen).ok();
            let (start, text) = (menu.start, menu.candidates[chosen as usize].text.clone());
            return self.replace_word(start, &text);
        }
        let (start, candidates) = self.completer.list_candidates(self.before_cursor());
        match candidates.as_slice() {
            [] => {}
            [only] => {
                let space = if only.text.ends_with('/') { "" } else { " " };
                self.replace_word(start, &format!("{}{space}", only.text));
            }
            _ => {
                // Names of files may differ from the word in their case.
                let shared = common_beginning(&candidates).to_owned();
                if shared.len() > self.cursor - start {
                    self.replace_word(start, &shared);
                }
                self.menu =
                    Some(CompletionMenu { start, candidates, chosen: None, takes_arrows: false });
            }
        }
    }

    fn replace_word(&mut self, start: usize, text: &str) {
        self.text.replace_range(start..self.cursor, text);
        self.cursor = start + text.len();
    }

    /// Handles a key of the search. Returns `false` if the key ends the search and then acts as
    /// usual.
    fn press_in_search(&mut self, key: &Key) -> bool {
        let Some(search) = &mut self.search else { return false };
        match key {
            Key::Text(text) => search.words.push_str(text),
            Key::Backspace => {
                search.words.pop();
                search.found = None;
            }
            Key::Search => {}
            Key::Resize | Key::FocusIn | Key::FocusOut => return true,
            Key::Escape | Key::Interrupt => {
                self.search = None;
                return true;
            }
            _ => {
                self.search = None;
                return false;
            }
        }
        self.find_line(matches!(key, Key::Search));
        true
    }

    /// Shows the newest line with the words, or the one before that.
    fn find_line(&mut self, next: bool) {
        let Some(search) = &mut self.search else { return };
        let lines = self.history.lines();
        let end = match search.found {
            Some(found) if next => found,
            Some(found) => found + 1,
            None => lines.len(),
        };
        let found = lines[..end].iter().rposition(|line| line.contains(&search.words));
        if let Some(found) = found.filter(|_| !search.words.is_empty()) {
            search.found = Some(found);
            let line = lines[found].clone();
            self.set_text(line);
        }
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
