//! The lines of tools: name, main argument, time.

use std::time::Duration;

use avocet_protocol::{LoggedCall, printable};

use crate::styled::{Colour, ScreenRow, Style};

/// Arguments that tell most about a call, the best first.
const TELLING: [&str; 12] = [
    "command", "path", "f", "pattern", "query", "url", "question", "message", "task", "name",
    "text", "id",
];
/// Characters of an argument.
const MAX_ARGUMENT: usize = 300;

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
    pub(crate) fn new(name: &str, now: Duration) -> Self {
        Self { name: name.to_owned(), argument: None, started: now, ended: None }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Adds the main argument of a call.
    pub(crate) fn describe(&mut self, call: &LoggedCall) {
        let arguments = call.call.arguments.to_object();
        let texts = || arguments.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
        let telling = TELLING.iter().find_map(|key| arguments.get(*key)?.as_str());
        let text = telling.or_else(|| texts().map(|(_, text)| text).next());
        self.argument = text.map(one_line);
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

fn one_line(text: &str) -> String {
    let words = printable(text);
    let line: Vec<&str> = words.split_whitespace().collect();
    line.join(" ").chars().take(MAX_ARGUMENT).collect()
}
