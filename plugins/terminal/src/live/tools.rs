//! The lines of tools: name, main argument, time.

use std::time::Duration;

use avocet_protocol::printable;

use crate::styled::{Colour, ScreenRow, Style};

/// A tool that runs or has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolLine {
    pub(crate) name: String,
    argument: Option<String>,
    started: Duration,
    /// The end and its success.
    ended: Option<(Duration, bool)>,
}

impl ToolLine {
    pub(crate) fn new(name: &str, argument: Option<&str>, now: Duration) -> Self {
        let argument = argument.map(|text| printable(text).into_owned());
        Self { name: name.to_owned(), argument, started: now, ended: None }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    pub(crate) fn end(&mut self, ok: bool, now: Duration) {
        self.ended = Some((now, ok));
    }

    /// Returns the row. The argument is cut first.
    pub(crate) fn row(&self, now: Duration, columns: usize) -> ScreenRow {
        let (mark, colour) = match self.ended {
            None => ("•", Colour::Yellow),
            Some((_, true)) => ("✓", Colour::Green),
            Some((_, false)) => ("✗", Colour::Red),
        };
        let end = self.ended.map_or(now, |(end, _)| end);
        let time = format!("  {}", seconds(end.saturating_sub(self.started), self.is_running()));
        let mut row = ScreenRow::of(format!("{mark} "), Style::of(colour));
        row.push(&printable(&self.name), Style::BOLD);
        if let Some(argument) = &self.argument {
            row.push("  ", Style::PLAIN);
            row.push(argument, Style::PLAIN);
        }
        let mut row = row.cut(columns.saturating_sub(time.len()));
        row.push(&time, Style::DIM);
        row
    }
}

/// A running time in whole seconds, so that the row changes once a second; else with a decimal.
fn seconds(time: Duration, is_running: bool) -> String {
    match time.as_secs() {
        minutes @ 60.. => format!("{} min {} s", minutes / 60, minutes % 60),
        seconds if is_running => format!("{seconds} s"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
