//! Keeps configured secrets out of this process's logs, errors and panics. The state is
//! process-wide, because a panic hook has no other context.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::io::{self, Write};
use std::panic::{PanicHookInfo, set_hook};
use std::sync::{Arc, LazyLock};
use std::thread;

use avocet_protocol::ignore_result;
use avocet_text::{Redactor, Secret, printable, printable_json};
use tracing_subscriber::fmt::MakeWriter;

use crate::stderr;

/// The text in place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

static KNOWN: LazyLock<Arc<Redactor>> = LazyLock::new(Arc::default);

/// Adds secrets to keep out, also for redactors that others hold already. Call this before any output
/// about the configuration.
pub(crate) fn learn_secrets(secrets: &[Secret]) {
    KNOWN.add_secrets(secrets.iter().cloned());
}

/// Returns an address without its login; `None` if it has none.
pub(crate) fn without_login(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let (login, place) = rest.split_once('/').unwrap_or((rest, "")).0.rsplit_once('@')?;
    let path = &rest[login.len() + 1 + place.len()..];
    Some(format!("{scheme}://{HIDDEN}@{place}{path}"))
}

/// Returns the redactor for all secrets learned so far.
pub(crate) fn shared_redactor() -> Arc<Redactor> {
    KNOWN.clone()
}

/// Installs a panic hook that removes secrets.
pub(crate) fn in_panics() {
    set_hook(Box::new(|info| {
        let text = panic_text(info, &Backtrace::capture());
        stderr::write(&printable(&shared_redactor().redact(&text)));
    }));
}

fn panic_text(info: &PanicHookInfo<'_>, backtrace: &Backtrace) -> String {
    let thread = thread::current();
    let name = thread.name().unwrap_or("unnamed");
    match backtrace.status() {
        BacktraceStatus::Captured => format!("thread '{name}' {info}\n{backtrace}\n"),
        _ => format!("thread '{name}' {info}\n"),
    }
}

/// The format of log events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Plain text.
    Plain,
    /// Text with colours, which the log itself adds.
    Coloured,
    Json,
}

impl Form {
    /// Returns the event in a form that is safe for terminals.
    fn printable(self, event: &str) -> Cow<'_, str> {
        match self {
            Self::Plain => printable(event),
            Self::Coloured => Cow::Owned(with_colours(event)),
            Self::Json => printable_json(event),
        }
    }
}

/// Keeps `ESC [ digits m`, which only changes colours, and drops all other control sequences.
fn with_colours(event: &str) -> String {
    let mut parts = event.split("\u{1b}[");
    let mut kept = printable(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        if part[digits..].starts_with('m') {
            kept.push_str("\u{1b}[");
        }
        kept.push_str(&printable(part));
    }
    kept
}

/// Writes each log event as a whole, without secrets even if they are split across writes, and
/// without control characters.
#[derive(Debug)]
pub(crate) struct Redacting<M> {
    to: M,
    /// `None` means [`shared_redactor`] at the time of the event: a chat that starts a daemon itself
    /// learns the daemon's secrets after its log has begun.
    redactor: Option<Arc<Redactor>>,
    form: Form,
}

impl<M> Redacting<M> {
    /// Redacts by the secrets that are known when an event is written.
    pub(crate) fn new(to: M, form: Form) -> Self {
        Self { to, redactor: None, form }
    }
}

impl<'m, M: MakeWriter<'m>> MakeWriter<'m> for Redacting<M> {
    type Writer = EventWriter<M::Writer>;

    fn make_writer(&'m self) -> Self::Writer {
        let redactor = self.redactor.clone().unwrap_or_else(shared_redactor);
        let (text, form) = (Vec::new(), self.form);
        EventWriter { to: self.to.make_writer(), text, redactor, form }
    }
}

/// An event under construction. Dropping it writes it.
pub(crate) struct EventWriter<W: Write> {
    to: W,
    text: Vec<u8>,
    redactor: Arc<Redactor>,
    form: Form,
}

impl<W: Write> Write for EventWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for EventWriter<W> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        let text = self.redactor.redact(&text);
        ignore_result(
            self.to.write_all(self.form.printable(&text).as_bytes()),
            "the program goes on without its log",
        );
    }
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;
