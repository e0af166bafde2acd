//! The error output of a program, as bounded lines for the log.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_text::sanitise;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a line that are kept.
const LONGEST: usize = 500;
/// The most lines that are logged in one window.
const LINES: u32 = 100;
const WINDOW: Duration = Duration::from_mins(1);

/// Logs the lines of a program, and keeps the last one.
#[derive(Debug)]
pub(super) struct ErrorLog {
    account: String,
    clock: Arc<dyn Clock>,
    line: Vec<u8>,
    last: Option<String>,
    window: Duration,
    lines: u32,
}

impl ErrorLog {
    pub(super) fn new(account: &str, clock: Arc<dyn Clock>) -> Self {
        let window = clock.elapsed();
        Self { account: account.to_owned(), clock, line: Vec::new(), last: None, window, lines: 0 }
    }

    /// Reads until the end of the stream.
    pub(super) async fn follow(&mut self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            self.push(&buffer[..read]);
        }
        self.end_line();
    }

    /// Returns the last line; `None` if there was no output.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.extend(rest);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.line.len());
        self.line.extend(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = sanitise(&String::from_utf8_lossy(&line)).text;
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let now = self.clock.elapsed();
        if now.saturating_sub(self.window) >= WINDOW {
            (self.window, self.lines) = (now, 0);
        }
        self.lines = self.lines.saturating_add(1);
        let account = &self.account;
        if self.lines <= LINES {
            tracing::info!(account, "the program of the channel: {line}");
        } else if self.lines == LINES + 1 {
            tracing::warn!(
                account,
                "the program of the channel has written {LINES} lines within a minute; further \
                 lines of this minute are left out"
            );
        }
        self.last = Some(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use avocet_testkit::ManualClock;

    use super::*;

    #[tokio::test]
    async fn follow_keeps_the_last_line_in_bounded_form() {
        let long = format!("x{}", "y".repeat(3 * LONGEST));
        let table = [
            ("", None),
            ("\n\n", None),
            ("one\ntwo", Some("two")),
            ("one\n\u{1b}[31mred\n \n", Some("[31mred")),
            (&long, Some(&long[..LONGEST])),
        ];
        for (text, expected) in table {
            let mut log = ErrorLog::new("external:irc", Arc::new(ManualClock::default()));
            log.follow(text.as_bytes()).await;
            assert_eq!(log.last(), expected);
        }
    }

    #[test]
    fn end_line_counts_the_lines_of_a_minute() {
        let clock = Arc::new(ManualClock::default());
        let mut log = ErrorLog::new("external:irc", clock.clone());
        log.push("line\n".repeat(300).as_bytes());
        assert_eq!(log.lines, 300);
        clock.advance(WINDOW);
        log.push(b"line\n");
        assert_eq!(log.lines, 1);
    }
}
