//! The only writer to terminals. Everything that a command prints passes [`printable`] or
//! [`printable_json`], since most of it comes from people, models, files or the network. The chat
//! has its own screen with the same protection.

use std::io::{self, ErrorKind, IsTerminal, Write};

use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::LastExchanges;
use avocet_text::{printable, printable_json};
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::environment::wants_colour;
use crate::exit::{Exit, Failure};
use crate::{redaction, stderr};

/// Prints lines. A reader that stops early, as in `| head`, is no failure.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    write_out(&printable(text))
}

/// Removes the last rows of the terminal, and continues where they began.
pub(crate) fn erase_rows(rows: usize) -> Result<(), Failure> {
    write_out(&format!("\x1b[{rows}A\r\x1b[J"))
}

/// Asks on the terminal.
///
/// # Errors
/// [`Failure`] without a terminal: the option `--yes` is needed.
pub(crate) fn ask_confirmation(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let message = "there is no terminal to ask on; give --yes";
        return Err(Failure::new(Exit::Failed, message));
    }
    stderr::write(&format!("{} [y/N] ", printable(question)));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Prints a value as JSON, indented, for programs and people.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    write_out(&printable_json(&format!("{text}\n")))
}

/// Prints a value as JSON, or as a text for people.
pub(crate) fn print_result(
    json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<Exit, Failure> {
    if json {
        print_json(value)?;
    } else {
        print_text(&text())?;
    }
    Ok(Exit::Done)
}

/// A line of a difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DifferenceLine {
    pub(crate) change: LineChange,
    /// The line with the sign of its change.
    pub(crate) text: String,
}

/// The change of a line between two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineChange {
    Same,
    Removed,
    Added,
}

impl DifferenceLine {
    pub(crate) fn without_colours(text: String) -> Self {
        Self { change: LineChange::Same, text }
    }

    /// Returns the line for the output, with a colour on a terminal.
    fn shown(&self, coloured: bool) -> String {
        let text = printable(&self.text);
        match self.change {
            LineChange::Removed if coloured => format!("\u{1b}[31m{text}\u{1b}[0m\n"),
            LineChange::Added if coloured => format!("\u{1b}[32m{text}\u{1b}[0m\n"),
            LineChange::Removed | LineChange::Added | LineChange::Same => format!("{text}\n"),
        }
    }
}

/// Prints a difference: on a terminal, removed lines in red and added ones in green.
pub(crate) fn print_difference(lines: &[DifferenceLine]) -> Result<(), Failure> {
    let coloured = io::stdout().is_terminal() && wants_colour();
    write_out(&lines.iter().map(|line| line.shown(coloured)).collect::<String>())
}

/// Prints a page that replaces the one before it on a terminal. Returns `false` if the reader has
/// gone.
pub(crate) fn print_page(text: &str) -> Result<bool, Failure> {
    let page = printable(text);
    if !io::stdout().is_terminal() {
        return reaches_reader(&page);
    }
    // Home, each line to its end, and the rest of the screen (ECMA-48: CUP, EL, ED).
    reaches_reader(&format!("\u{1b}[H{}\u{1b}[J", page.replace('\n', "\u{1b}[K\n")))
}

/// Prints a value as one line of JSON. Returns `false` if the reader has gone.
pub(crate) fn print_json_line(value: &impl Serialize) -> Result<bool, Failure> {
    let text = serde_json::to_string(value).map_err(io::Error::from)?;
    reaches_reader(&printable_json(&format!("{text}\n")))
}

fn write_out(text: &str) -> Result<(), Failure> {
    reaches_reader(text).map(drop)
}

/// Writes a text. Returns `false` if the reader has gone.
fn reaches_reader(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Prints the reason why a command failed, without secrets.
pub(crate) fn print_error(text: &str) {
    print_labelled("error:", "31", text);
}

/// Prints a warning about the effects of a command.
pub(crate) fn print_warning(text: &str) {
    print_labelled("warning:", "33", text);
}

fn print_labelled(label: &str, colour: &str, text: &str) {
    let text = redaction::shared_redactor().redact(text).into_owned();
    let label = if io::stderr().is_terminal() {
        format!("\u{1b}[1;{colour}m{label}\u{1b}[0m")
    } else {
        label.to_owned()
    };
    stderr::write(&format!("{label} {}\n", printable(&text)));
}

/// Formats a moment to the minute, in the reader's time zone.
pub(crate) fn format_moment(at: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => at.0.to_string(),
    }
}

/// Formats the time since a moment.
pub(crate) fn format_age(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", format_span(at.until(now).as_secs()))
}

/// Describes the last failure, if there was one: `; last failure 2 h 3 min ago: no connection`.
pub(crate) fn last_failure(last: &LastExchanges, now: Timestamp) -> String {
    let failure = last.failure.as_ref();
    failure.map_or_else(String::new, |last| {
        format!("; last failure {}: {}", format_age(last.at, now), last.reason)
    })
}

/// Formats a time span for people.
pub(crate) fn format_span(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, _) => format!("{minutes} min"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, _, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_line_is_coloured_on_a_terminal_and_safe() {
        let line = |change| DifferenceLine { change, text: "- a\u{1b}[2J".to_owned() };
        let safe = format!("{}\n", printable("- a\u{1b}[2J"));
        for (change, coloured, expected) in [
            (LineChange::Same, true, safe.clone()),
            (LineChange::Removed, false, safe.clone()),
            (LineChange::Removed, true, format!("\u{1b}[31m{}\u{1b}[0m\n", safe.trim_end())),
            (LineChange::Added, true, format!("\u{1b}[32m{}\u{1b}[0m\n", safe.trim_end())),
        ] {
            assert_eq!(line(change).shown(coloured), expected);
        }
    }

    #[test]
    fn span_uses_two_units_at_most() {
        let table =
            [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3661, "1 h 1 min"), (90_000, "1 d 1 h")];
        for (seconds, text) in table {
            assert_eq!(format_span(seconds), text);
        }
    }
}
