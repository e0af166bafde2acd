//! The lines of tools: name, main argument, time, and below them what the tool has done.

use std::time::Duration;

use avocet_protocol::ids::CallId;
use avocet_text::printable;

use super::call_report::CallReport;
use crate::styled::{PaletteColour, ScreenRow, TextStyle};

/// A tool that runs or has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolLine {
    pub(crate) name: String,
    /// `None` if the daemon does not name the call.
    pub(crate) call: Option<CallId>,
    argument: Option<String>,
    /// The progress that the running tool has reported last.
    progress: Option<String>,
    started: Duration,
    /// The end and its success.
    ended: Option<(Duration, bool)>,
    /// The result in the log. `None` until it has been read.
    report: Option<CallReport>,
    /// `true` if the call was refused, so that it has no time.
    is_refused: bool,
}

impl ToolLine {
    pub(crate) fn new(
        name: &str,
        argument: Option<&str>,
        call: Option<CallId>,
        now: Duration,
    ) -> Self {
        Self {
            name: name.to_owned(),
            call,
            argument: argument.map(|text| printable(text).into_owned()),
            progress: None,
            started: now,
            ended: None,
            report: None,
            is_refused: false,
        }
    }

    /// Makes the line of a call that did not run.
    pub(crate) fn with_refusal(report: CallReport, now: Duration) -> Self {
        let line = Self::new(&report.name, report.argument.as_deref(), Some(report.call), now);
        Self { ended: Some((now, false)), report: Some(report), is_refused: true, ..line }
    }

    pub(crate) fn set_report(&mut self, report: CallReport) {
        self.report = Some(report);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Line breaks become spaces.
    pub(crate) fn set_progress(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        self.progress = Some(printable(&words.join(" ")).into_owned());
    }

    pub(crate) fn end_call(&mut self, ok: bool, now: Duration) {
        self.progress = None;
        self.ended = Some((now, ok));
    }

    /// Returns the row of the call, and the rows below it.
    pub(crate) fn tool_rows(&self, now: Duration, columns: usize) -> Vec<ScreenRow> {
        let below = self.report.as_ref().map(|report| report.folded_rows(columns));
        let mut rows = vec![self.tool_row(now, columns)];
        rows.extend(below.into_iter().flatten());
        rows
    }

    /// Returns the row. The progress and the argument are cut first.
    fn tool_row(&self, now: Duration, columns: usize) -> ScreenRow {
        let is_ok = self.report.as_ref().map(|report| report.is_ok);
        let (mark, colour) = match self.ended.map(|(_, ok)| is_ok.unwrap_or(ok)) {
            None => ("•", PaletteColour::Yellow),
            Some(true) => ("✓", PaletteColour::Green),
            Some(false) => ("✗", PaletteColour::Red),
        };
        let mut end = self.report.as_ref().map(CallReport::note_row).unwrap_or_default();
        if !self.is_refused {
            let time = self.ended.map_or(now, |(end, _)| end).saturating_sub(self.started);
            let time = format_seconds(time, self.is_running());
            end.push(&format!("  {time}"), TextStyle::DIM);
        }
        let row = self.named_row(mark, TextStyle::with_colour(colour));
        let mut row = row.cut(columns.saturating_sub(end.width()));
        row.append(&end);
        row
    }

    /// Returns the permanent rows. They have no time if the tool has no end.
    pub(crate) fn last_rows(&self, columns: usize) -> Vec<ScreenRow> {
        match self.ended {
            Some((end, _)) => self.tool_rows(end, columns),
            None => {
                let ended = Self { progress: None, ..self.clone() };
                vec![ended.named_row("◦", TextStyle::DIM).cut(columns)]
            }
        }
    }

    fn named_row(&self, mark: &str, style: TextStyle) -> ScreenRow {
        let mut row = ScreenRow::with_text(format!("{mark} "), style);
        row.push(&printable(&self.name), TextStyle::BOLD);
        let texts = [(&self.argument, TextStyle::PLAIN), (&self.progress, TextStyle::DIM)];
        for (text, style) in texts {
            if let Some(text) = text {
                row.push("  ", TextStyle::PLAIN);
                row.push(text, style);
            }
        }
        row
    }
}

/// A running time in whole seconds, so that the row changes once a second; else with a decimal.
fn format_seconds(time: Duration, is_running: bool) -> String {
    match time.as_secs() {
        minutes @ 60.. => format!("{} min {} s", minutes / 60, minutes % 60),
        seconds if is_running => format!("{seconds} s"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
