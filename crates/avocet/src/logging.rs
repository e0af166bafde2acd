//! Sets up the program's log. All of it passes [`Redacting`].

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use avocet_config::{ConfigDocument, ConfigError, LogConfig, LogFormat};
use avocet_protocol::clock::Clock;
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use avocet_text::nearest;
use serde_json::json;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::environment::wants_colour;
use crate::exit::{Exit, Failure};
use crate::redaction::{Form, Redacting};
use crate::stderr;

/// The levels, from the fewest lines to the most.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Names for levels in other programs.
const SYNONYMS: [(&str, &str); 12] = [
    ("all", "trace"),
    ("critical", "error"),
    ("err", "error"),
    ("fatal", "error"),
    ("loud", "debug"),
    ("none", "off"),
    ("normal", "info"),
    ("notice", "info"),
    ("quiet", "warn"),
    ("silent", "off"),
    ("verbose", "debug"),
    ("warning", "warn"),
];
/// The manifest of this crate, which names the crates of the program.
const MANIFEST: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
/// The crates of the program that the manifest leaves out.
const OTHER_PARTS: [&str; 3] = ["avocet", "avocet_channel_kit", "avocet_methods"];

/// Levels of other programs' targets, unless the operator sets another. The library for MCP logs what
/// we log ourselves, and each message of a server.
const QUIET: &str = "rmcp=off";

/// Checks `[log]`.
pub(crate) fn check_log(document: &ConfigDocument, log: &LogConfig) -> Result<(), ConfigError> {
    parse_level(&log.level).map(drop).map_err(|error| {
        let error = match document.get("log.level").and_then(|value| value.as_str()) {
            Some(value) if document.hide_reference("log.level", value) == value => error,
            _ => "the value of the reference is not a level".to_owned(),
        };
        document.error_at("log.level", format!("`log.level`: {error}"))
    })
}

/// Checks a level, or several levels with their targets: `info,avocet_agent=debug`.
///
/// # Errors
/// The invalid word, and the word that was probably meant.
pub(crate) fn parse_level(text: &str) -> Result<String, String> {
    for part in text.split(',').map(str::trim) {
        match part.split_once('=') {
            None => check_level(part)?,
            Some((part, level)) => {
                check_part(part.trim())?;
                check_level(level.trim())?;
            }
        }
    }
    Ok(text.to_owned())
}

fn check_level(word: &str) -> Result<(), String> {
    let lower = word.to_lowercase();
    if LEVELS.contains(&lower.as_str()) {
        return Ok(());
    }
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == lower).map(|(_, level)| *level);
    let meant = synonym.or_else(|| nearest(&lower, LEVELS));
    let known = "levels are error, warn, info, debug and trace";
    Err(match meant {
        Some(level) => format!("{word:?} is not a level; did you mean {level}? The {known}"),
        None => format!("{word:?} is not a level; the {known}"),
    })
}

/// Returns the targets of the program that can have a level. A test compares them with the crates.
fn log_targets() -> BTreeSet<String> {
    let crates = MANIFEST.lines().filter_map(crate_in).filter(|name| *name != "avocet-testkit");
    let targets = crates.map(|name| name.replace('-', "_"));
    targets.chain(OTHER_PARTS.map(str::to_owned)).collect()
}

/// Returns our crate that a line of the manifest names as a dependency. In a published package, a
/// dependency is a table of its own.
fn crate_in(line: &str) -> Option<&str> {
    let line = line.strip_prefix("[dependencies.").unwrap_or(line);
    let end = line.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(line.len());
    Some(&line[..end]).filter(|name| name.starts_with("avocet-"))
}

/// Checks a target. Names of other programs' targets are free; a name in our style has to be one of
/// ours.
fn check_part(part: &str) -> Result<(), String> {
    let first = part.split("::").next().unwrap_or_default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_:-".contains(c);
    if part.is_empty() || !part.chars().all(is_word) {
        return Err(format!(
            "{part:?} is not a part of the program; write it like avocet_agent=debug"
        ));
    }
    let whole = format!("avocet_{first}");
    let targets = log_targets();
    if targets.contains(first) {
        return Ok(());
    }
    let alike = || {
        let alike = nearest(first, targets.iter().map(String::as_str));
        alike.filter(|_| first.starts_with("avo"))
    };
    match targets.get(&whole).map(String::as_str).or_else(alike) {
        Some(meant) => {
            Err(format!("{first:?} is not a part of the program; did you mean {meant}?"))
        }
        None => Ok(()),
    }
}

/// Logs to stderr, for a daemon.
pub(crate) fn to_stderr(
    log: &LogConfig,
    level: Option<&str>,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<(), Failure> {
    let coloured = io::stderr().is_terminal() && wants_colour();
    let form = match (log.format, coloured) {
        (LogFormat::Json, _) => Form::Json,
        (LogFormat::Text, true) => Form::Coloured,
        (LogFormat::Text, false) => Form::Plain,
    };
    let (format, clock) = (log.format, clock.clone());
    stderr::start_queue(group, move |lines| dropped_line(format, clock.as_ref(), lines))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(make_filter(level.unwrap_or(&log.level))?)
        .with_ansi(coloured)
        .with_writer(Redacting::new(|| Stderr, form));
    match log.format {
        LogFormat::Text => {
            let builder = builder.with_filter_reloading();
            let handle = builder.reload_handle();
            keep_level(Box::new(move |filter| handle.reload(filter).is_ok()));
            builder.init();
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true).with_filter_reloading();
            let handle = builder.reload_handle();
            keep_level(Box::new(move |filter| handle.reload(filter).is_ok()));
            builder.init();
        }
    }
    Ok(())
}

/// Changes the filter of the log; `false` if that failed.
type SetFilter = Box<dyn Fn(EnvFilter) -> bool + Send + Sync>;

/// The filter of this process's log.
static SET_FILTER: OnceLock<SetFilter> = OnceLock::new();

fn keep_level(set: SetFilter) {
    ignore_result(SET_FILTER.set(set), "the log begins once for each process");
}

/// Changes the level of the log to stderr. A log elsewhere keeps its level.
pub(crate) fn set_level(level: &str) {
    let Some(set) = SET_FILTER.get() else { return };
    if !make_filter(level).is_ok_and(set) {
        tracing::warn!(level, "cannot change the level of the log");
    }
}

/// Formats the line in place of dropped lines.
fn dropped_line(format: LogFormat, clock: &dyn Clock, lines: u64) -> String {
    const TARGET: &str = "avocet::stderr";
    let text = format!("dropped {lines} log lines: stderr is not read");
    let at = clock.now().0;
    let at =
        jiff::Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |at| at.to_string());
    match format {
        LogFormat::Text => format!("{at}  WARN {TARGET}: {text}\n"),
        LogFormat::Json => {
            let line = json!({
                "timestamp": at, "level": "WARN", "message": text, "lines": lines, "target": TARGET,
            });
            format!("{line}\n")
        }
    }
}

/// Sends warnings to a channel, for a daemon inside a conversation. Lines that are not read in time
/// are dropped.
pub(crate) fn to_remarks(level: Option<&str>) -> Result<flume::Receiver<String>, Failure> {
    let (remarks, shown) = flume::bounded(64);
    tracing_subscriber::fmt()
        .with_env_filter(make_filter(level.unwrap_or("warn"))?)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer(Redacting::new(Remarks(remarks), Form::Plain))
        .init();
    Ok(shown)
}

fn make_filter(level: &str) -> Result<EnvFilter, Failure> {
    EnvFilter::try_new(format!("{QUIET},{level}")).map_err(|_| {
        let message =
            format!("{level:?} is not a log level; give error, warn, info, debug or trace");
        Failure::new(Exit::Configuration, message)
    })
}

/// Writes to the standard error, one event at a time.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stderr::write(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone)]
struct Remarks(flume::Sender<String>);

impl Write for Remarks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        ignore_result(self.0.try_send(text), "a chat that is behind misses the line");
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Remarks {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
#[path = "logging_tests.rs"]
mod tests;
