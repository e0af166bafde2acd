//! Writes rows to a terminal. The rows above are permanent and scroll away. The rows at the bottom
//! are the live region, which is painted over in place.

use std::fmt;
use std::io::Write;

use avocet_protocol::ignore_result;

/// The way in which a terminal calls a person whose window has no focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionSign {
    /// The bell, which each terminal has.
    Bell,
    /// A notification of the desktop (OSC 9).
    Notification,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// The width in characters.
    pub columns: usize,
    /// The height in characters.
    pub rows: usize,
}

/// The live region, as the terminal gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LiveFrame {
    /// The rows with their widths.
    pub(super) rows: Vec<(String, usize)>,
    /// The row and the column of the cursor, inside the region.
    pub(super) cursor: (usize, usize),
}

/// Paints the changes between two frames with one write.
pub(super) struct FramePainter {
    out: Box<dyn Write + Send>,
    /// `true` if the terminal reflows its rows when its width changes.
    reflows: bool,
    shown: LiveFrame,
    columns: usize,
    /// The rows of the open page on the alternate screen.
    page: Vec<String>,
}

impl fmt::Debug for FramePainter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Painter").field("shown", &self.shown).finish_non_exhaustive()
    }
}

/// The terminal shows everything between these at once (synchronized output), and no cursor.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?25h\u{1b}[?2026l";
const ERASE_ROW: &str = "\u{1b}[K";
const ERASE_BELOW: &str = "\u{1b}[J";
/// The terminal keeps its screen and the place of the cursor while a page is open (alternate
/// screen). A page has no cursor.
const OPEN_PAGE: &str = "\u{1b}[?1049h\u{1b}[?25l";
const CLOSE_PAGE: &str = "\u{1b}[?1049l\u{1b}[?25h";

impl FramePainter {
    pub(super) fn new(out: Box<dyn Write + Send>, reflows: bool) -> Self {
        Self { out, reflows, shown: LiveFrame::default(), columns: 0, page: Vec::new() }
    }

    /// Writes the permanent rows, and the frame below them.
    pub(super) fn paint_frame(&mut self, permanent: &[String], frame: LiveFrame, columns: usize) {
        let is_resized = columns != self.columns;
        if permanent.is_empty() && !is_resized && frame == self.shown {
            return;
        }
        let mut text = BEGIN.to_owned();
        text.push('\r');
        text.push_str(&cursor_move('A', self.rows_above_cursor(columns)));
        if is_resized {
            text.push_str(ERASE_BELOW);
        }
        for row in permanent {
            text.push_str(&format!("{row}{ERASE_ROW}\r\n"));
        }
        let is_moved = is_resized || !permanent.is_empty();
        for (place, row) in frame.rows.iter().enumerate() {
            if place > 0 {
                text.push_str("\r\n");
            }
            if is_moved || self.shown.rows.get(place) != Some(row) {
                text.push_str(&row.0);
                text.push_str(ERASE_ROW);
            }
        }
        if is_moved || self.shown.rows.len() > frame.rows.len() {
            // The last row may be unchanged, so the cursor is at its beginning.
            let width = frame.rows.last().map_or(0, |(_, width)| *width);
            text.push_str(&format!("\r{}{ERASE_BELOW}", cursor_move('C', width)));
        }
        let (row, column) = frame.cursor;
        let below = frame.rows.len().saturating_sub(row + 1);
        text.push_str(&format!("\r{}{}{END}", cursor_move('A', below), cursor_move('C', column)));
        self.write(&text);
        (self.shown, self.columns) = (frame, columns);
    }

    /// Erases the screen, so that the next frame begins at its top.
    pub(super) fn clear(&mut self) {
        self.write("\u{1b}[2J\u{1b}[H");
        self.shown = LiveFrame::default();
    }

    /// Calls the person with the bell or with a notification.
    pub(super) fn call_person(&mut self, sign: AttentionSign, text: &str) {
        self.write(&match sign {
            AttentionSign::Bell => "\u{7}".to_owned(),
            AttentionSign::Notification => format!("\u{1b}]9;{text}\u{7}"),
        });
    }

    /// Shows an empty page in place of the screen.
    pub(super) fn open_page(&mut self) {
        self.write(OPEN_PAGE);
    }

    /// Paints the open page.
    pub(super) fn paint_page(&mut self, rows: &[String]) {
        if self.page != rows {
            let text = rows.join(&format!("{ERASE_ROW}\r\n"));
            self.write(&format!(
                "\u{1b}[?2026h\u{1b}[H{text}{ERASE_ROW}{ERASE_BELOW}\u{1b}[?2026l"
            ));
            self.page = rows.to_vec();
        }
    }

    /// Shows the screen again as it was.
    pub(super) fn close_page(&mut self) {
        self.page.clear();
        self.write(CLOSE_PAGE);
    }

    /// The rows of the region above the cursor. A terminal that has become narrower has broken or
    /// cut its rows.
    fn rows_above_cursor(&self, columns: usize) -> usize {
        let (row, column) = self.shown.cursor;
        let is_broken = self.reflows && columns < self.columns;
        let broken =
            |width: usize| if is_broken { width.saturating_sub(1) / columns.max(1) } else { 0 };
        let above = self.shown.rows.iter().take(row);
        row + above.map(|(_, width)| broken(*width)).sum::<usize>() + broken(column + 1)
    }

    fn write(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        ignore_result(written, "if the terminal is gone, the input ends soon");
    }
}

/// Returns the escape sequence that moves the cursor.
fn cursor_move(direction: char, steps: usize) -> String {
    if steps == 0 { String::new() } else { format!("\u{1b}[{steps}{direction}") }
}
