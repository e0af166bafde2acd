//! The screen of a person: the conversation scrolls away above, and the live region at the bottom
//! shows the open part of the answer, running tools, the typed line and the status.

mod call_report;
mod file_change;
mod pager;
mod painter;
mod parts;
mod report_line;
mod tools;
mod typing;

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::time::Duration;

use avocet_protocol::ids::{CallId, MessageId};
use avocet_text::printable;

use crate::drawn_pictures::{PictureProtocol, draw_picture};
use crate::line::{Completer, InputLine, LineHistory};
use crate::markdown::{MarkdownStream, rows_of};
use crate::styled::{LineBreaks, Look, PageLayout, ScreenRow, StyledSpan, TextStyle, wrap_spans};
pub(crate) use call_report::CallReport;
use pager::{CallHistory, CallPager};
pub use painter::{AttentionSign, TerminalSize};
use painter::{FramePainter, LiveFrame};
use tools::ToolLine;

/// Largest number of rows of an earlier answer.
const PAST_ROWS: usize = 20;

/// The kind of the last permanent rows, which decides about empty rows between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowKind {
    Typed,
    Text,
    Remark,
    Tool,
}

/// The parts of the screen of a person.
pub struct LiveParts {
    /// The terminal.
    pub out: Box<dyn Write + Send>,
    /// The present size of the terminal.
    pub size: Box<dyn Fn() -> TerminalSize + Send>,
    /// `true` if the terminal reflows its rows when its width changes; `false` if it cuts them.
    pub reflows: bool,
    /// The use of attributes.
    pub look: Look,
    /// The file of typed lines, and the most lines that it keeps.
    pub history: (std::path::PathBuf, usize),
    /// The source of completions.
    pub completer: Completer,
    /// The way to call the person.
    pub sign: AttentionSign,
    /// The way to draw pictures; `None` if the terminal shows none.
    pub pictures: Option<PictureProtocol>,
}

impl fmt::Debug for LiveParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveParts").field("look", &self.look).finish_non_exhaustive()
    }
}

/// A row that scrolls away.
#[derive(Debug)]
enum PermanentRow {
    Text(ScreenRow),
    /// The escape sequences of a picture.
    Picture(String),
}

impl From<ScreenRow> for PermanentRow {
    fn from(row: ScreenRow) -> Self {
        Self::Text(row)
    }
}

impl PermanentRow {
    fn paint(self, look: Look) -> String {
        match self {
            Self::Text(row) => row.paint_row(look),
            Self::Picture(drawn) => drawn,
        }
    }
}

/// A typed line that stays at the bottom until its turn starts.
#[derive(Debug)]
struct WaitingLine {
    text: String,
    /// `None` until it is sent.
    message: Option<MessageId>,
}

/// The screen of a person.
pub(crate) struct LiveScreen {
    painter: FramePainter,
    size: Box<dyn Fn() -> TerminalSize + Send>,
    look: Look,
    /// Permanent rows that are not painted yet.
    permanent: Vec<PermanentRow>,
    last: Option<RowKind>,
    /// The answer that is being written.
    answer: MarkdownStream,
    is_answering: bool,
    /// `true` if other rows are above the open part of the answer.
    has_gap: bool,
    tools: Vec<ToolLine>,
    /// The ended calls, for the list of their whole output.
    history: CallHistory,
    /// The open list.
    pager: Option<CallPager>,
    /// The present work; `None` if the agent is idle.
    activity: Option<String>,
    waiting: VecDeque<WaitingLine>,
    line: InputLine,
    /// The status line at the bottom.
    status: String,
    /// Takes the place of the status line until the next key.
    hint: Option<&'static str>,
    now: Duration,
    sign: AttentionSign,
    pictures: Option<PictureProtocol>,
    /// `false` once the terminal has reported that another window gets the keys.
    has_focus: bool,
    /// `true` while another program has the terminal.
    is_paused: bool,
}

impl fmt::Debug for LiveScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveScreen").field("look", &self.look).finish_non_exhaustive()
    }
}

impl LiveScreen {
    pub(crate) fn new(parts: LiveParts) -> Self {
        let LiveParts { out, size, reflows, look, history, completer, sign, pictures } = parts;
        let (file, most) = history;
        Self {
            painter: FramePainter::new(out, reflows),
            size,
            look,
            permanent: Vec::new(),
            last: None,
            answer: MarkdownStream::default(),
            is_answering: false,
            has_gap: false,
            tools: Vec::new(),
            history: CallHistory::default(),
            pager: None,
            activity: None,
            waiting: VecDeque::new(),
            line: InputLine::new(LineHistory::open(file, most), completer),
            status: String::new(),
            hint: None,
            now: Duration::ZERO,
            sign,
            pictures,
            has_focus: true,
            is_paused: false,
        }
    }

    fn page_layout(&self) -> PageLayout {
        self.page_of((self.size)())
    }

    /// The rows leave the last column free: a terminal breaks a full row at different moments.
    fn page_of(&self, size: TerminalSize) -> PageLayout {
        PageLayout { columns: size.columns.saturating_sub(1).max(1), look: self.look }
    }

    fn add_rows(&mut self, kind: RowKind, rows: Vec<ScreenRow>) {
        let is_group = self.last == Some(kind) && matches!(kind, RowKind::Tool | RowKind::Remark);
        if self.last.is_some() && !is_group {
            self.permanent.push(ScreenRow::default().into());
        }
        self.last = Some(kind);
        self.has_gap = true;
        self.permanent.extend(rows.into_iter().map(PermanentRow::from));
    }

    /// Shows the next part of the answer.
    pub(crate) fn stream_answer(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.is_answering {
            // Spaces at the beginning would be an empty paragraph.
            if text.trim().is_empty() {
                return;
            }
            self.end_tools();
            self.is_answering = true;
            self.has_gap = self.last.is_some();
        }
        self.answer.push(text);
        let finished = self.answer.take_finished(self.page_layout());
        self.extend_answer(finished);
    }

    fn extend_answer(&mut self, rows: Vec<ScreenRow>) {
        if rows.is_empty() {
            return;
        }
        let rows = self.with_gap(rows);
        self.has_gap = false;
        self.last = Some(RowKind::Text);
        self.permanent.extend(rows.into_iter().map(PermanentRow::from));
    }

    /// Adds the empty row between the answer and what is above it.
    fn with_gap(&self, mut rows: Vec<ScreenRow>) -> Vec<ScreenRow> {
        if self.has_gap && rows.first().is_some_and(|row| !row.is_blank()) {
            rows.insert(0, ScreenRow::default());
        }
        rows
    }

    /// Makes the streamed text permanent.
    pub(crate) fn end_stream(&mut self) {
        if std::mem::take(&mut self.is_answering) {
            let rows = self.answer.finish(self.page_layout());
            self.extend_answer(rows);
        }
    }

    /// Shows a whole text. In the middle of an answer, it goes above the open block.
    pub(crate) fn show_text(&mut self, text: &str) {
        let rows = rows_of(text, self.page_layout());
        self.add_rows(RowKind::Text, rows);
    }

    /// Shows a remark of the program itself.
    pub(crate) fn show_remark(&mut self, text: &str) {
        let span = StyledSpan::new(printable(text), TextStyle::DIM);
        let rows = wrap_spans(&[span], self.page_layout().columns, LineBreaks::Words);
        self.add_rows(RowKind::Remark, rows);
    }

    /// Shows the end of an earlier answer. Returns `true` if this is the whole answer.
    pub(crate) fn show_past_answer(&mut self, text: &str) -> bool {
        let mut rows = rows_of(text, self.page_layout());
        let hidden = rows.len().saturating_sub(PAST_ROWS);
        if hidden > 0 {
            rows.drain(..hidden);
            rows.insert(0, ScreenRow::with_text("…", TextStyle::DIM));
        }
        self.add_rows(RowKind::Text, rows);
        hidden == 0
    }

    /// Shows a line that was typed. One that waits for the end of the answer stays at the bottom.
    pub(crate) fn show_typed_line(&mut self, line: &str, waits: bool) {
        if waits {
            self.waiting.push_back(WaitingLine { text: line.to_owned(), message: None });
        } else {
            self.add_typed(line);
        }
    }

    /// Records the message that a waiting line has become.
    pub(crate) fn note_sent(&mut self, line: &str, message: MessageId) {
        let mut unsent = self.waiting.iter_mut().filter(|one| one.message.is_none());
        if let Some(sent) = unsent.find(|one| one.text == line) {
            sent.message = Some(message);
        }
    }

    /// Puts a line that could not be sent back into the input, if the input is empty.
    pub(crate) fn take_back(&mut self, line: &str) {
        let is_it = |one: &WaitingLine| one.message.is_none() && one.text == line;
        if let Some(place) = self.waiting.iter().position(is_it) {
            self.waiting.remove(place);
        }
        self.line.restore_text(line);
    }

    /// Makes the waiting lines of these messages permanent.
    pub(crate) fn release_lines(&mut self, messages: &[MessageId]) {
        let is_started = |one: &WaitingLine| one.message.is_some_and(|id| messages.contains(&id));
        while let Some(place) = self.waiting.iter().position(is_started) {
            let line = self.waiting.remove(place);
            line.into_iter().for_each(|line| self.add_typed(&line.text));
        }
    }

    /// Makes all waiting lines permanent.
    pub(crate) fn release_waiting(&mut self) {
        while let Some(line) = self.waiting.pop_front() {
            self.add_typed(&line.text);
        }
    }

    /// Shows a line that was typed above the live region.
    pub(crate) fn add_typed(&mut self, line: &str) {
        let line = self.line.folded_texts().shorten_message(line);
        let rows = parts::typed_rows(&line, self.page_layout().columns, TextStyle::BOLD);
        self.add_rows(RowKind::Typed, rows);
    }

    /// Shows a running tool. `argument` is the main argument of the call.
    pub(crate) fn tool_started(
        &mut self,
        name: &str,
        argument: Option<&str>,
        call: Option<CallId>,
    ) {
        self.end_stream();
        let mut line = ToolLine::new(name, argument, call, self.now);
        // The result of a fast call may have been read with that of the call before it.
        if let Some(call) = call
            && let Some(report) = self.history.find_report(call)
        {
            self.tools.retain(|tool| tool.call != Some(call));
            line.set_report(report.clone());
        }
        self.tools.push(line);
    }

    /// Shows the progress of a running tool.
    pub(crate) fn tool_progress(&mut self, name: &str, text: &str) {
        self.running_tool(name).into_iter().for_each(|tool| tool.set_progress(text));
    }

    pub(crate) fn tool_ended(&mut self, name: &str, call: Option<CallId>, ok: bool) {
        let now = self.now;
        let is_it = |tool: &&mut ToolLine| call.is_some() && tool.call == call;
        let place = self.tools.iter_mut().find(is_it);
        let ended = if place.is_some() { place } else { self.running_tool(name) };
        ended.into_iter().for_each(|tool| tool.end_call(ok, now));
    }

    /// Shows the result of an ended call below its line. A failed call that has no line gets one if
    /// `is_new` says that it ended since the chat follows the turn.
    pub(crate) fn show_report(&mut self, report: CallReport, is_new: bool) {
        self.keep_report(report.clone());
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.call == Some(report.call)) {
            tool.set_report(report);
        } else if is_new && !report.is_ok {
            self.end_stream();
            // A later call may have begun before the refusal was read.
            let is_later = |tool: &ToolLine| tool.call.is_some_and(|call| call > report.call);
            let place = self.tools.iter().position(is_later).unwrap_or(self.tools.len());
            self.tools.insert(place, ToolLine::with_refusal(report, self.now));
        }
    }

    fn running_tool(&mut self, name: &str) -> Option<&mut ToolLine> {
        self.tools.iter_mut().find(|tool| tool.is_running() && tool.name == name)
    }

    /// Makes the lines of tools permanent. Tools without an end wait for something, or were
    /// stopped.
    pub(crate) fn end_tools(&mut self) {
        let columns = self.page_layout().columns;
        for tool in std::mem::take(&mut self.tools) {
            let rows = tool.last_rows(columns);
            self.add_rows(RowKind::Tool, rows);
        }
    }

    pub(crate) fn set_activity(&mut self, activity: Option<String>) {
        self.activity = activity.map(|activity| printable(&activity).into_owned());
    }

    pub(crate) fn set_status(&mut self, status: &str) {
        self.status = printable(status).into_owned();
    }

    pub(crate) fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    pub(crate) fn has_open_tools(&self) -> bool {
        self.tools.iter().any(ToolLine::is_running)
    }

    /// Paints all changes.
    pub(crate) fn paint_changes(&mut self) {
        if self.is_paused || self.paint_pager() {
            return;
        }
        let size = (self.size)();
        let frame = self.compose_frame(size);
        self.flush_frame(frame, size);
    }

    /// Erases the live region, for another program.
    pub(crate) fn hide_region(&mut self) {
        self.flush_frame(
            LiveFrame { rows: vec![(String::new(), 0)], cursor: (0, 0) },
            (self.size)(),
        );
    }

    /// Returns `true` if the terminal draws pictures.
    pub(crate) fn draws_pictures(&self) -> bool {
        self.pictures.is_some()
    }

    /// Draws a picture below everything that is permanent, if the terminal takes its format.
    pub(crate) fn show_picture(&mut self, bytes: &[u8]) {
        self.end_stream();
        let drawn = self.pictures.and_then(|way| draw_picture(way, bytes, (self.size)()));
        if let Some(drawn) = drawn {
            self.add_rows(RowKind::Text, Vec::new());
            self.permanent.push(PermanentRow::Picture(drawn));
        }
    }

    /// Paints the permanent rows and a frame that was made for this size.
    fn flush_frame(&mut self, frame: LiveFrame, size: TerminalSize) {
        let look = self.look;
        let permanent = std::mem::take(&mut self.permanent);
        let permanent: Vec<String> = permanent.into_iter().map(|row| row.paint(look)).collect();
        self.painter.paint_frame(&permanent, frame, size.columns);
    }
}

impl Drop for LiveScreen {
    /// Makes everything permanent and leaves the cursor below it.
    fn drop(&mut self) {
        self.close_pager();
        self.end_stream();
        self.end_tools();
        self.release_waiting();
        self.hide_region();
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
