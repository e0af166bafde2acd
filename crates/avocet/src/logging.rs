//! Where the log of the program goes. All of it passes [`Redacting`].

use std::io::{self, IsTerminal, Write};

use avocet_config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::exit::{Exit, Failure};
use crate::places::wants_colour;
use crate::redaction::Redacting;

/// Logs to stderr, for a daemon. systemd adds the time itself.
pub(crate) fn to_stderr(log: &Log, level: Option<&str>) -> Result<(), Failure> {
    let terminal = io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(level.unwrap_or(&log.level))?)
        .with_ansi(terminal && wants_colour())
        .with_writer(Redacting::new(io::stderr));
    match log.format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Logs warnings to whoever shows them, for a daemon inside a conversation. What nobody shows in
/// time is lost.
pub(crate) fn to_remarks(level: Option<&str>) -> Result<flume::Receiver<String>, Failure> {
    let (remarks, shown) = flume::bounded(64);
    tracing_subscriber::fmt()
        .with_env_filter(filter(level.unwrap_or("warn"))?)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer(Redacting::new(Remarks(remarks)))
        .init();
    Ok(shown)
}

fn filter(level: &str) -> Result<EnvFilter, Failure> {
    EnvFilter::try_new(level).map_err(|error| {
        let message = format!(
            "`log.level`: {level:?} is no level ({error}); give error, warn, info, debug or trace"
        );
        Failure::new(Exit::Configuration, message)
    })
}

#[derive(Clone)]
struct Remarks(flume::Sender<String>);

impl Write for Remarks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        drop(self.0.try_send(text));
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
