//! The standard error of this process. After [`start_queue`] is called, output goes through a bounded
//! queue and its own thread, so that a pipe without a reader blocks only that thread.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use parking_lot::{Condvar, Mutex};

/// The most bytes that wait to be written. Further text is dropped and counted.
const MAX_WAITING: usize = 1024 * 1024;
/// The time that the end of the program waits for the queue to empty.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// The reason to ignore an error of standard error.
const NO_READER: &str = "the reader is gone, and there is no other place to report it";

static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

/// Puts all further output into a queue. `dropped` formats the log line for a number of dropped
/// lines.
pub(crate) fn start_queue(
    group: &Group,
    dropped: impl Fn(u64) -> String + Send + 'static,
) -> io::Result<()> {
    let queue = QUEUE.get_or_init(Arc::default).clone();
    group.spawn_thread("stderr", move || queue.serve(&mut io::stderr(), &dropped))?;
    Ok(())
}

/// Writes a text as a whole.
pub(crate) fn write(text: &str) {
    match QUEUE.get() {
        Some(queue) => queue.push(text),
        None => ignore_result(io::stderr().lock().write_all(text.as_bytes()), NO_READER),
    }
}

/// Waits until everything is written, for at most `FLUSH_LIMIT`.
pub(crate) fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush(FLUSH_LIMIT);
    }
}

/// Texts that wait to be written.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Signalled when a text is queued.
    filled: Condvar,
    /// Signalled when everything is written.
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    texts: VecDeque<QueuedText>,
    bytes: usize,
    /// Lines dropped since the last queued text.
    dropped: u64,
    /// `true` while the thread writes a text that it has taken out.
    writing: bool,
}

#[derive(Debug)]
enum QueuedText {
    Lines(String),
    /// This number of lines was dropped here.
    Dropped(u64),
}

impl Queue {
    fn push(&self, text: &str) {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + text.len() > MAX_WAITING {
            waiting.dropped += 1;
            self.filled.notify_one();
            return;
        }
        waiting.tell_dropped();
        waiting.bytes += text.len();
        waiting.texts.push_back(QueuedText::Lines(text.to_owned()));
        self.filled.notify_one();
    }

    /// Writes the queued texts for as long as the process lives.
    fn serve(&self, to: &mut impl Write, dropped: &impl Fn(u64) -> String) {
        loop {
            let text = match self.next() {
                QueuedText::Lines(text) => text,
                QueuedText::Dropped(count) => dropped(count),
            };
            ignore_result(to.write_all(text.as_bytes()), NO_READER);
        }
    }

    /// Returns the next text. The call marks the text before it as written.
    fn next(&self) -> QueuedText {
        let mut waiting = self.waiting.lock();
        waiting.writing = false;
        loop {
            if let Some(text) = waiting.texts.pop_front() {
                if let QueuedText::Lines(text) = &text {
                    waiting.bytes -= text.len();
                }
                waiting.writing = true;
                return text;
            }
            if waiting.tell_dropped() {
                continue;
            }
            self.emptied.notify_all();
            self.filled.wait(&mut waiting);
        }
    }

    fn flush(&self, limit: Duration) {
        let mut waiting = self.waiting.lock();
        let unwritten = |waiting: &mut Waiting| {
            waiting.writing || waiting.dropped > 0 || !waiting.texts.is_empty()
        };
        // At the timeout the rest is abandoned, since it is not being read.
        self.emptied.wait_while_for(&mut waiting, unwritten, limit);
    }
}

impl Waiting {
    /// Queues a note about dropped lines behind the last text. Returns `false` if nothing was
    /// dropped.
    fn tell_dropped(&mut self) -> bool {
        let count = std::mem::take(&mut self.dropped);
        if count > 0 {
            self.texts.push_back(QueuedText::Dropped(count));
        }
        count > 0
    }
}

#[cfg(test)]
#[path = "stderr_tests.rs"]
mod tests;
