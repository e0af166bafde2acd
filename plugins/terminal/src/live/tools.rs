//! The lines of tools: name, main argument, time.

use std::time::Duration;

use avocet_text::printable;

use crate::styled::{PaletteColour, ScreenRow, TextStyle};

/// A tool that runs or has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolLine {
    pub(crate) name: String,
    argument: Option<String>,
    /// The progress that the running tool has reported last.
    progress: Option<String>,
    started: Duration,
    /// The end and its success.
    ended: Option<(Duration, bool)>,
}

impl ToolLine {
    pub(crate) fn new(name: &str, argument: Option<&str>, now: Duration) -> Self {
        let argument = argument.map(|text| printable(text).into_owned());
        Self { name: name.to_owned(), argument, progress: None, started: now, ended: None }
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

    /// Returns the row. The progress and the argument are cut first.
    pub(crate) fn tool_row(&self, now: Duration, columns: usize) -> ScreenRow {
        let (mark, colour) = match self.ended {
            None => ("•", PaletteColour::Yellow),
            Some((_, true)) => ("✓", PaletteColour::Green),
            Some((_, false)) => ("✗", PaletteColour::Red),
        };
        let end = self.ended.map_or(now, |(end, _)| end);
        let time =
            format!("  {}", format_seconds(end.saturating_sub(self.started), self.is_running()));
        let row = self.named_row(mark, TextStyle::with_colour(colour));
        let mut row = row.cut(columns.saturating_sub(time.len()));
        row.push(&time, TextStyle::DIM);
        row
    }

    /// Returns the permanent row. It has no time if the tool has no end.
    pub(crate) fn last_row(&self, columns: usize) -> ScreenRow {
        match self.ended {
            Some((end, _)) => self.tool_row(end, columns),
            None => {
                Self { progress: None, ..self.clone() }.named_row("◦", TextStyle::DIM).cut(columns)
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
