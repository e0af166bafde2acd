//! A terminal for tests, whose cells can be read.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use avocet_protocol::channel::CommandHelp;
use parking_lot::Mutex;

use crate::line::Completer;
use crate::live::{AttentionSign, LiveParts, TerminalSize};
use crate::styled::Look;

/// A terminal with 1,000 rows above its screen.
#[derive(Clone)]
pub(crate) struct TerminalEmulator {
    parser: Arc<Mutex<vt100::Parser>>,
}

impl Write for TerminalEmulator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.parser.lock().process(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminalEmulator {
    pub(crate) fn new(rows: u16, columns: u16) -> Self {
        let parser = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 1000)));
        Self { parser }
    }

    /// The parts of a screen on this terminal.
    pub(crate) fn parts(&self, look: Look) -> LiveParts {
        let help = |name| CommandHelp::new(name, "", "do it");
        let parser = self.parser.clone();
        LiveParts {
            out: Box::new(self.clone()),
            size: Box::new(move || {
                let (rows, columns) = parser.lock().screen().size();
                TerminalSize { columns: columns.into(), rows: rows.into() }
            }),
            reflows: false,
            look,
            history: (PathBuf::from("/nonexistent/history"), 0),
            completer: Completer::new(["status", "stop"].map(help), None),
            sign: AttentionSign::Bell,
            pictures: None,
        }
    }

    /// Changes the size as a terminal that cuts its rows.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        self.parser.lock().screen_mut().set_size(rows, columns);
    }

    /// Changes the width as a terminal that reflows its rows. The cursor stays at its character.
    pub(crate) fn reflow(&self, columns: u16) {
        let mut parser = self.parser.lock();
        let screen = parser.screen();
        let (height, old) = screen.size();
        let rows: Vec<String> = screen.rows(0, old).map(|row| row.trim_end().to_owned()).collect();
        let (row, column) = screen.cursor_position();
        let used = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0).max(row.into());
        let mut shown = vt100::Parser::new(height, columns, 1000);
        shown.process(rows[..=used].join("\r\n").as_bytes());
        // The cursor is at the end now. A row without a character has one row, too.
        let broken = |width: usize| width.div_ceil(columns.into()).max(1);
        let below: usize =
            rows[usize::from(row)..=used].iter().map(|row| broken(row.chars().count())).sum();
        let (down, right) = (column / columns, column % columns);
        let up = below - 1 - usize::from(down);
        if up > 0 {
            shown.process(format!("\u{1b}[{up}A").as_bytes());
        }
        shown.process(format!("\u{1b}[{}G", right + 1).as_bytes());
        *parser = shown;
    }

    /// Returns the visible rows, without spaces at their ends and empty rows at the end.
    pub(crate) fn shown(&self) -> String {
        let shown = self.parser.lock().screen().contents();
        let rows: Vec<&str> = shown.lines().map(str::trim_end).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Returns all rows, also those that have scrolled away.
    pub(crate) fn all(&self) -> String {
        let parser = &mut *self.parser.lock();
        let columns = parser.screen().size().1;
        parser.screen_mut().set_scrollback(usize::MAX);
        let mut rows = Vec::new();
        for back in (0..=parser.screen().scrollback()).rev() {
            parser.screen_mut().set_scrollback(back);
            let visible = parser.screen().rows(0, columns);
            let shown = if back == 0 { usize::MAX } else { 1 };
            rows.extend(visible.take(shown).map(|row| row.trim_end().to_owned()));
        }
        rows.join("\n").trim_end().to_owned()
    }

    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.parser.lock().screen().cursor_position()
    }

    /// Returns the escape sequences of attributes on the screen.
    pub(crate) fn attributes(&self) -> Vec<String> {
        let formatted = self.parser.lock().screen().contents_formatted();
        let formatted = String::from_utf8(formatted).unwrap();
        let codes = formatted.split("\u{1b}[").skip(1);
        let codes = codes.filter_map(|code| code.split_once('m').map(|(code, _)| code));
        let is_code =
            |code: &&str| !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit() || b == b';');
        codes.filter(is_code).map(str::to_owned).collect()
    }
}
