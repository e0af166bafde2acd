//! What is shown: text that stays, and one line that does not.

use std::fmt;
use std::io::{self, Write};

/// Prints above the line that is being edited.
pub trait Above: Send {
    /// Prints text and a line break.
    ///
    /// # Errors
    /// The terminal's error.
    fn print(&mut self, text: String) -> io::Result<()>;
}

/// The terminal's output, or a pipe.
pub struct Screen {
    out: Box<dyn Write + Send>,
    /// Where remarks go; none: between the texts.
    remarks: Option<Box<dyn Write + Send>>,
    above: Option<Box<dyn Above>>,
    colour: bool,
    /// Whether a person is typing: everything goes above the line.
    prompting: bool,
    /// Whether the cursor stands behind text that has not been ended.
    in_line: bool,
    /// Whether the line that does not stay is there.
    status: bool,
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("colour", &self.colour).finish_non_exhaustive()
    }
}

impl Screen {
    /// A screen on `out`, in colour if that is wanted.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, above: Option<Box<dyn Above>>, colour: bool) -> Self {
        let remarks = None;
        Self { out, remarks, above, colour, prompting: false, in_line: false, status: false }
    }

    /// The same screen with remarks elsewhere, so that `out` has the texts and nothing else.
    #[must_use]
    pub fn with_remarks_to(self, remarks: Box<dyn Write + Send>) -> Self {
        Self { remarks: Some(remarks), ..self }
    }

    pub(crate) fn set_prompting(&mut self, prompting: bool) {
        self.end_line();
        self.prompting = prompting;
    }

    /// More of a text that is being written.
    pub(crate) fn stream(&mut self, text: &str) {
        self.clear_status();
        self.write(text);
        if let Some(last) = text.chars().last() {
            self.in_line = last != '\n';
        }
    }

    /// A whole text, on lines of its own.
    pub(crate) fn line(&mut self, text: &str) {
        self.end_line();
        let above = self.above.as_mut().filter(|_| self.prompting);
        match above {
            // What the printer cannot print is not shown, and nothing else can be done about it.
            Some(above) => above.print(format!("{text}\n")).unwrap_or_default(),
            None => self.write(&format!("{text}\n")),
        }
    }

    /// A remark of the program itself.
    pub(crate) fn remark(&mut self, text: &str) {
        match &mut self.remarks {
            Some(remarks) => writeln!(remarks, "{text}").unwrap_or_default(),
            None if self.colour => self.line(&format!("\u{1b}[2m{text}\u{1b}[0m")),
            None => self.line(text),
        }
    }

    /// The line that does not stay. Not shown in the middle of a text, or where somebody types.
    pub(crate) fn status(&mut self, text: &str) {
        if self.in_line || self.prompting {
            return;
        }
        let text = if self.colour { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() };
        self.write(&format!("\r\u{1b}[2K{text}"));
        self.status = true;
    }

    pub(crate) fn end_line(&mut self) {
        self.clear_status();
        if self.in_line {
            self.write("\n");
            self.in_line = false;
        }
    }

    fn clear_status(&mut self) {
        if self.status {
            self.write("\r\u{1b}[2K");
            self.status = false;
        }
    }

    /// A terminal that is gone shows nothing, and the input says so soon.
    fn write(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.unwrap_or_default();
    }
}
