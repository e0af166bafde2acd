//! The standard error of this process. Once [`queue`] is called, whatever is written goes through a bounded
//! queue and a thread of its own: a pipe that nobody reads blocks that thread, and nothing else.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use avocet_supervise::Group;

/// Bytes that may wait to be written; what comes beyond them is dropped and counted.
const MAX_WAITING: usize = 1024 * 1024;
/// How long the end of the program waits until everything is written.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

/// Has everything that is written from now on wait in a queue. `dropped` makes a line of the log that says
/// how many lines were dropped.
pub(crate) fn queue(
    group: &Group,
    dropped: impl Fn(u64) -> String + Send + 'static,
) -> io::Result<()> {
    let queue = QUEUE.get_or_init(Arc::default).clone();
    group.thread("stderr", move || queue.serve(&mut io::stderr(), &dropped))?;
    Ok(())
}

/// Writes a text as a whole. Where it cannot be written, nobody is left to be told.
pub(crate) fn write(text: &str) {
    match QUEUE.get() {
        Some(queue) => queue.push(text),
        None => io::stderr().lock().write_all(text.as_bytes()).unwrap_or_default(),
    }
}

/// Waits until everything is written, but not for long.
pub(crate) fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush(FLUSH_LIMIT);
    }
}

/// Texts that wait to be written.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Signalled when something is to be written.
    filled: Condvar,
    /// Signalled when everything is written.
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    texts: VecDeque<Text>,
    bytes: usize,
    /// Lines that found no room since the last that did.
    dropped: u64,
    /// Whether the thread is writing a text that it has taken out.
    writing: bool,
}

#[derive(Debug)]
enum Text {
    Lines(String),
    /// So many lines were dropped here.
    Dropped(u64),
}

impl Queue {
    fn push(&self, text: &str) {
        let mut waiting = self.waiting();
        if waiting.bytes + text.len() > MAX_WAITING {
            waiting.dropped += 1;
            self.filled.notify_one();
            return;
        }
        waiting.tell_dropped();
        waiting.bytes += text.len();
        waiting.texts.push_back(Text::Lines(text.to_owned()));
        self.filled.notify_one();
    }

    /// Writes what comes, for as long as the process lives.
    fn serve(&self, to: &mut impl Write, dropped: &impl Fn(u64) -> String) {
        loop {
            let text = match self.next() {
                Text::Lines(text) => text,
                Text::Dropped(count) => dropped(count),
            };
            // A reader that is gone reads nothing.
            to.write_all(text.as_bytes()).unwrap_or_default();
        }
    }

    /// The next text; the one before it is written.
    fn next(&self) -> Text {
        let mut waiting = self.waiting();
        waiting.writing = false;
        loop {
            if let Some(text) = waiting.texts.pop_front() {
                if let Text::Lines(text) = &text {
                    waiting.bytes -= text.len();
                }
                waiting.writing = true;
                return text;
            }
            if waiting.tell_dropped() {
                continue;
            }
            self.emptied.notify_all();
            waiting = self.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn flush(&self, limit: Duration) {
        let waiting = self.waiting();
        let unwritten = |waiting: &mut Waiting| {
            waiting.writing || waiting.dropped > 0 || !waiting.texts.is_empty()
        };
        // Where the limit runs out, nobody reads what is left.
        drop(self.emptied.wait_timeout_while(waiting, limit, unwritten));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Puts a note behind the last text that found room; false if nothing was dropped.
    fn tell_dropped(&mut self) -> bool {
        let count = std::mem::take(&mut self.dropped);
        if count > 0 {
            self.texts.push_back(Text::Dropped(count));
        }
        count > 0
    }
}

#[cfg(test)]
#[path = "stderr_tests.rs"]
mod tests;
