//! The terminal's output: permanent text, and one temporary line. Foreign text passes
//! [`printable`], so all escape sequences are the screen's own.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use avocet_protocol::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Erases the row above the one where the next text begins.
const ERASE_ABOVE: &str = "\u{1b}[1A\r\u{1b}[2K";
const ERASE: &str = "\r\u{1b}[2K";

/// Prints above the line that is being edited.
pub trait Above: Send {
    /// Prints text that ends with a line break.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    fn print(&mut self, text: String) -> io::Result<()>;

    /// The width of the terminal in characters.
    fn columns(&self) -> usize;
}

/// The look of texts of the program itself, beside those of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimming {
    /// Shown in a fainter colour.
    On,
    /// Shown like all text.
    Off,
}

impl Dimming {
    fn apply(self, text: Cow<'_, str>) -> String {
        match self {
            Self::On => format!("\u{1b}[2m{text}\u{1b}[0m"),
            Self::Off => text.into_owned(),
        }
    }
}

/// The terminal's output, or a pipe.
pub struct Screen {
    out: Box<dyn Write + Send>,
    /// The output for remarks; `None`: between the texts.
    remarks: Option<Box<dyn Write + Send>>,
    /// Set if a person types here: all text goes above the line that is being edited.
    above: Option<Box<dyn Above>>,
    dimming: Dimming,
    /// The last row of a text that goes on.
    row: String,
    /// The temporary line, while it is visible.
    status: Option<String>,
    /// Escape sequence that erases the text to be replaced next.
    erase: &'static str,
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("dimming", &self.dimming).finish_non_exhaustive()
    }
}

impl Screen {
    /// A screen on `out`.
    #[must_use]
    pub fn new(
        out: Box<dyn Write + Send>,
        above: Option<Box<dyn Above>>,
        dimming: Dimming,
    ) -> Self {
        Self { out, remarks: None, above, dimming, row: String::new(), status: None, erase: "" }
    }

    /// The same screen with remarks elsewhere, so that `out` gets only the texts.
    #[must_use]
    pub fn with_remarks_to(self, remarks: Box<dyn Write + Send>) -> Self {
        Self { remarks: Some(remarks), ..self }
    }

    /// Call when a typed line has ended: the rows above it can no longer be erased.
    pub(crate) fn line_was_typed(&mut self) {
        if self.above.is_some() {
            self.status = None;
            self.row.clear();
            self.erase = "";
        }
    }

    /// Shows the next part of a streamed text.
    pub(crate) fn stream(&mut self, text: &str) {
        let printable = printable(text);
        let text = printable.as_ref();
        if text.is_empty() {
            return;
        }
        let Some(above) = &self.above else {
            self.clear_status();
            self.write(text);
            let end = text.rfind('\n').map_or(0, |end| end + 1);
            if end > 0 {
                self.row.clear();
            }
            return self.row.push_str(&text[end..]);
        };
        let columns = above.columns();
        self.clear_status();
        if !self.row.is_empty() {
            self.erase = ERASE_ABOVE;
        }
        // A tab has a variable width.
        let text = text.replace('\t', "    ");
        let rows = rows(&format!("{}{text}", self.row), columns);
        self.row = rows.last().cloned().unwrap_or_default();
        let shown = rows.join("\n");
        let end = if shown.ends_with('\n') { "" } else { "\n" };
        self.write(&format!("{shown}{end}"));
    }

    /// Shows a whole text on lines of its own.
    pub(crate) fn line(&mut self, text: &str) {
        self.own_line(&printable(text));
    }

    fn own_line(&mut self, text: &str) {
        self.end_line();
        self.write(&format!("{text}\n"));
    }

    /// Shows a remark of the program itself.
    pub(crate) fn remark(&mut self, text: &str) {
        let text = printable(text);
        match &mut self.remarks {
            Some(remarks) => writeln!(remarks, "{text}").unwrap_or_default(),
            None => self.own_line(&self.dimming.apply(text)),
        }
    }

    /// Shows the temporary line, except in the middle of a text.
    pub(crate) fn status(&mut self, text: &str) {
        if !self.row.is_empty() || self.status.as_deref() == Some(text) {
            return;
        }
        let printable = printable(text);
        let text = printable.as_ref();
        self.clear_status();
        if self.above.is_none() {
            self.erase = ERASE;
        }
        let (shown, end) = match &self.above {
            Some(above) => (rows(text, above.columns()).swap_remove(0), "\n"),
            None => (text.to_owned(), ""),
        };
        let shown = self.dimming.apply(shown.into());
        self.write(&format!("{shown}{end}"));
        self.status = Some(text.to_owned());
    }

    pub(crate) fn end_line(&mut self) {
        self.clear_status();
        if !self.row.is_empty() && self.above.is_none() {
            self.write("\n");
        }
        self.row.clear();
    }

    /// Makes the next text replace the temporary line.
    fn clear_status(&mut self) {
        if self.status.take().is_some() {
            self.erase = if self.above.is_some() { ERASE_ABOVE } else { ERASE };
        }
    }

    /// Ignores errors: if the terminal is gone, the input ends soon.
    fn write(&mut self, text: &str) {
        let text = format!("{}{text}", std::mem::take(&mut self.erase));
        let written = match &mut self.above {
            Some(above) => above.print(text),
            None => self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()),
        };
        written.unwrap_or_default();
    }
}

/// Breaks a text into rows narrower than the terminal, between words if possible. A row of the full
/// width would push the cursor to the next one.
fn rows(text: &str, columns: usize) -> Vec<String> {
    let most = columns.saturating_sub(1).max(1);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let mut rest = line;
        while rest.width() > most && first_end(rest) < rest.len() {
            let mut width = 0;
            let fits = |(_, one): &(usize, char)| {
                width += one.width().unwrap_or_default();
                width <= most
            };
            let end = rest.char_indices().take_while(fits).last();
            let end = end.map_or(0, |(at, one)| at + one.len_utf8()).max(first_end(rest));
            let word = rest[..end].rfind(' ').map(|at| at + 1).filter(|at| *at > end / 2);
            let (row, more) = rest.split_at(word.unwrap_or(end));
            rows.push(row.to_owned());
            rest = more;
        }
        rows.push(rest.to_owned());
    }
    rows
}

/// The offset of the first character's end.
fn first_end(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
