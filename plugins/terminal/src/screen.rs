//! The terminal's output: the screen of a person, or a pipe. Untrusted text passes [`printable`],
//! so only the screen itself writes escape sequences.

use std::fmt;
use std::io::Write;

use avocet_protocol::ignore_result;
use avocet_text::printable;

use crate::live::{LiveParts, LiveScreen};

/// The terminal's output.
#[derive(Debug)]
pub struct Screen(ScreenOutput);

enum ScreenOutput {
    Person(Box<LiveScreen>),
    Pipe { texts: Box<dyn Write + Send>, remarks: Box<dyn Write + Send> },
}

impl fmt::Debug for ScreenOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(live) => live.fmt(f),
            Self::Pipe { .. } => f.write_str("Pipe"),
        }
    }
}

impl Screen {
    /// The screen of a person.
    #[must_use]
    pub fn live(parts: LiveParts) -> Self {
        Self(ScreenOutput::Person(Box::new(LiveScreen::new(parts))))
    }

    /// A pipe, with the remarks of the program elsewhere, so that `texts` gets only the texts.
    #[must_use]
    pub fn pipe(texts: Box<dyn Write + Send>, remarks: Box<dyn Write + Send>) -> Self {
        Self(ScreenOutput::Pipe { texts, remarks })
    }

    /// The screen, if a person looks at it.
    pub(crate) fn live_screen(&mut self) -> Option<&mut LiveScreen> {
        match &mut self.0 {
            ScreenOutput::Person(live) => Some(live),
            ScreenOutput::Pipe { .. } => None,
        }
    }

    /// Shows a whole text on separate lines.
    pub(crate) fn show_line(&mut self, text: &str) {
        match &mut self.0 {
            ScreenOutput::Person(live) => live.show_text(text),
            ScreenOutput::Pipe { texts, .. } => write_line(texts, text),
        }
    }

    /// Shows a remark of the program itself.
    pub(crate) fn show_remark(&mut self, text: &str) {
        match &mut self.0 {
            ScreenOutput::Person(live) => live.show_remark(text),
            ScreenOutput::Pipe { remarks, .. } => write_line(remarks, text),
        }
    }
}

fn write_line(out: &mut Box<dyn Write + Send>, text: &str) {
    let written = writeln!(out, "{}", printable(text)).and_then(|()| out.flush());
    ignore_result(written, "if the reader is gone, the input ends soon");
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pipe_removes_control_characters_from_all_text() {
        let (texts, remarks) = (Paper::default(), Paper::default());
        let mut screen = Screen::pipe(Box::new(texts.clone()), Box::new(remarks.clone()));
        screen.show_line("a\u{1b}[2Jb\u{9b}2Jc\rd\u{202e}e");
        screen.show_remark("f\u{1b}[2Jg");
        assert_eq!(*texts.0.lock(), b"a[2Jb2Jcde\n");
        assert_eq!(*remarks.0.lock(), b"f[2Jg\n");
    }
}
