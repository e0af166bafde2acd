//! An ended tool call, as a person sees it: its end, its counts, and the lines of its output or of
//! its change.

use avocet_protocol::ids::CallId;
use avocet_protocol::turn::{CallResult, LoggedCall};
use avocet_text::{Redactor, main_argument, printable};
use serde_json::{Map, Value};

use super::file_change::{ShownChange, read_change};
use super::report_line::{LineKind, ReportLine};
use crate::styled::{PaletteColour, ScreenRow, TextStyle};

/// Rows of a folded change.
const CHANGE_ROWS: usize = 10;
/// Rows of a folded error.
const ERROR_ROWS: usize = 4;
/// The first and the last rows of a folded output. Its end often says how it went.
const OUTPUT_ROWS: (usize, usize) = (2, 3);
/// Characters of the main argument of a call that did not run.
const MOST_ARGUMENT: usize = 100;
/// Tools whose output the person can read elsewhere. Folded, it is only counted.
const READING: [&str; 5] = ["read_file", "read_result", "list_directory", "outline", "use_skill"];

/// An ended call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallReport {
    pub(crate) call: CallId,
    pub(crate) name: String,
    pub(crate) argument: Option<String>,
    /// `false` also for a command with an exit code other than 0.
    pub(crate) is_ok: bool,
    /// A few words beside the argument, such as the exit code.
    note: Option<String>,
    /// Added and removed lines.
    counts: Option<(usize, usize)>,
    lines: Vec<ReportLine>,
}

impl CallReport {
    /// Describes a call; `None` until it has ended.
    pub(crate) fn from_logged(logged: &LoggedCall) -> Option<Self> {
        let result = logged.result()?;
        let arguments = logged.call.arguments.to_object();
        let report = Self {
            call: logged.id,
            name: logged.call.name.clone(),
            argument: main_argument(&arguments, MOST_ARGUMENT, &Redactor::default()),
            is_ok: result.ok,
            note: None,
            counts: None,
            lines: Vec::new(),
        };
        Some(report.with_result(&arguments, result))
    }

    fn with_result(mut self, arguments: &Map<String, Value>, result: &CallResult) -> Self {
        if !result.ok {
            let error = result.value["error"].as_str().map(str::to_owned);
            let error = error.unwrap_or_else(|| result.value.to_string());
            self.lines = ReportLine::split_text(LineKind::Error, &error);
            return self;
        }
        if let Some(ShownChange { lines, added, removed }) = read_change(&self.name, arguments) {
            self.counts = Some((added, removed));
            self.lines = lines;
            return self;
        }
        if let Some(end) = failed_end(&result.value) {
            (self.is_ok, self.note) = (false, Some(end));
        }
        self.lines = output_lines(&result.value);
        if self.is_reading() {
            let count = self.lines.len();
            self.note = Some(format!("{count} {}", if count == 1 { "line" } else { "lines" }));
        }
        self
    }

    fn is_reading(&self) -> bool {
        self.is_ok && READING.contains(&self.name.as_str())
    }

    /// Returns the exit code, the number of lines, or the counts of a change, to stand behind the
    /// argument.
    pub(crate) fn note_row(&self) -> ScreenRow {
        let mut row = ScreenRow::default();
        if let Some(note) = &self.note {
            let style = if self.is_ok { TextStyle::DIM } else { LineKind::Error.style() };
            row.push(&format!("  {note}"), style);
        }
        if let Some((added, removed)) = self.counts {
            row.push(&format!("  +{added}"), LineKind::Added.style());
            row.push(&format!(" -{removed}"), LineKind::Removed.style());
        }
        row
    }

    /// Returns the few rows that stand below the row of the call.
    pub(crate) fn folded_rows(&self, columns: usize) -> Vec<ScreenRow> {
        if self.is_reading() {
            return Vec::new();
        }
        let is_all = |kind| self.lines.iter().all(|line| line.kind == kind);
        // A reason is shown whole if it is not very long. Other lines have one row each.
        let rows: Vec<ScreenRow> = if is_all(LineKind::Error) {
            self.lines.iter().flat_map(|line| line.wrapped_rows(columns)).collect()
        } else {
            self.lines.iter().map(|line| line.to_row(columns)).collect()
        };
        let (first, last) = if is_all(LineKind::Output) {
            OUTPUT_ROWS
        } else if is_all(LineKind::Error) {
            (ERROR_ROWS, 0)
        } else {
            (CHANGE_ROWS, 0)
        };
        let hidden = rows.len().saturating_sub(first + last);
        // A row that says that one row is hidden is as long as that row.
        if hidden < 2 {
            return rows;
        }
        let more = format!("… {hidden} more lines (Ctrl-O shows all)");
        let more = ReportLine::new(LineKind::Output, &more).to_row(columns);
        [&rows[..first], &[more], &rows[first + hidden..]].concat()
    }

    /// Returns the row of the call, and all its lines.
    pub(crate) fn unfolded_rows(&self, columns: usize) -> Vec<ScreenRow> {
        let (mark, colour) =
            if self.is_ok { ("✓ ", PaletteColour::Green) } else { ("✗ ", PaletteColour::Red) };
        let mut head = ScreenRow::with_text(mark, TextStyle::with_colour(colour));
        head.push(&printable(&self.name), TextStyle::BOLD);
        if let Some(argument) = &self.argument {
            head.push(&format!("  {argument}"), TextStyle::PLAIN);
        }
        let note = self.note_row();
        let mut head = head.cut(columns.saturating_sub(note.width()));
        head.append(&note);
        let lines = self.lines.iter().flat_map(|line| line.wrapped_rows(columns));
        std::iter::once(head).chain(lines).collect()
    }

    /// Returns the bytes of its lines.
    pub(crate) fn count_bytes(&self) -> usize {
        self.lines.iter().map(|line| line.text.len()).sum()
    }
}

/// Returns the end of a command that has failed.
fn failed_end(value: &Value) -> Option<String> {
    if let Some(signal) = value["killed_by_signal"].as_i64() {
        return Some(format!("killed by signal {signal}"));
    }
    let code = value["exit_code"].as_i64().filter(|code| *code != 0)?;
    Some(format!("exit code {code}"))
}

/// Returns the lines of a result. The output of a command comes first, without its key.
fn output_lines(value: &Value) -> Vec<ReportLine> {
    match value {
        Value::String(text) => ReportLine::split_text(LineKind::Output, text),
        Value::Array(values) => values.iter().flat_map(value_lines).collect(),
        Value::Object(fields) => {
            let output = fields.get("output").map(output_lines).unwrap_or_default();
            let is_shown = |key: &str| ["output", "exit_code", "killed_by_signal"].contains(&key);
            let others = fields.iter().filter(|(key, _)| !is_shown(key));
            let others = others.flat_map(|(key, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                ReportLine::split_text(LineKind::Output, &format!("{key}: {text}"))
            });
            output.into_iter().chain(others).collect()
        }
        Value::Null => Vec::new(),
        value => value_lines(value),
    }
}

fn value_lines(value: &Value) -> Vec<ReportLine> {
    match value {
        Value::String(text) => ReportLine::split_text(LineKind::Output, text),
        value => ReportLine::split_text(LineKind::Output, &value.to_string()),
    }
}

#[cfg(test)]
#[path = "call_report_tests.rs"]
mod tests;
