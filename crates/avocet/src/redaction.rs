//! Keeps configured secrets out of all that this process says: logs, errors, panics. Process-wide, because
//! a panic knows nothing but the process.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{PanicHookInfo, set_hook};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::thread;

use avocet_protocol::{Redactor, Secret};
use tracing_subscriber::fmt::MakeWriter;

static KNOWN: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(RwLock::default);

/// From now on these are kept out. Comes before anything is said of the configuration.
pub(crate) fn learn(secrets: &[Secret]) {
    let redactor = Arc::new(Redactor::new(secrets.iter().cloned()));
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = redactor;
}

/// What knows everything that was learned so far.
pub(crate) fn redactor() -> Arc<Redactor> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Has panics say what they say without secrets.
pub(crate) fn in_panics() {
    set_hook(Box::new(|info| {
        let text = said(info, &Backtrace::capture());
        // There is nobody left to tell if this fails.
        io::stderr().lock().write_all(redactor().redact(&text).as_bytes()).unwrap_or_default();
    }));
}

fn said(info: &PanicHookInfo<'_>, backtrace: &Backtrace) -> String {
    let thread = thread::current();
    let name = thread.name().unwrap_or("unnamed");
    match backtrace.status() {
        BacktraceStatus::Captured => format!("thread '{name}' {info}\n{backtrace}\n"),
        _ => format!("thread '{name}' {info}\n"),
    }
}

/// Writes each event of the log as a whole, without secrets, however it was put together.
#[derive(Debug)]
pub(crate) struct Redacting<M> {
    to: M,
    redactor: Arc<Redactor>,
}

impl<M> Redacting<M> {
    /// Keeps out what was learned so far.
    pub(crate) fn new(to: M) -> Self {
        Self { to, redactor: redactor() }
    }
}

impl<'m, M: MakeWriter<'m>> MakeWriter<'m> for Redacting<M> {
    type Writer = Event<M::Writer>;

    fn make_writer(&'m self) -> Self::Writer {
        let (text, redactor) = (Vec::new(), self.redactor.clone());
        Event { to: self.to.make_writer(), text, redactor }
    }
}

/// An event that is being written; it is passed on when it is dropped.
pub(crate) struct Event<W: Write> {
    to: W,
    text: Vec<u8>,
    redactor: Arc<Redactor>,
}

impl<W: Write> Write for Event<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Event<W> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        // A log that cannot be written is no reason to stop.
        self.to.write_all(self.redactor.redact(&text).as_bytes()).unwrap_or_default();
    }
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;
