//! One program in the background: its state, its unread output, and the trust of that.

use std::collections::VecDeque;
use std::time::Duration;

use avocet_protocol::access::{LeastTrust, Trust};
use avocet_protocol::chat::SessionId;
use avocet_sandbox::{ProgramEnd, ProgramResult, ReachedHosts, SandboxError};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::builtin::watched::{ProgramNotes, ProgramWatch};

/// Bytes of unread output kept per program; the oldest are dropped first.
const KEPT_BYTES: usize = 64 * 1024;

/// The details of a program that stay the same.
#[derive(Debug)]
pub(super) struct ProgramDetails {
    pub(super) id: String,
    pub(super) session: SessionId,
    /// The command as a person sees it.
    pub(super) command: String,
    /// Measured by the clock's `elapsed`.
    pub(super) started: Duration,
    pub(super) limit: Duration,
    pub(super) cancel: CancellationToken,
}

#[derive(Debug)]
pub(super) struct BackgroundProgram {
    pub(super) details: ProgramDetails,
    /// The hosts that it has connected to so far.
    pub(super) reached: ReachedHosts,
    output: Mutex<UnreadOutput>,
    changed: Notify,
    /// The files that the program reads and changes. `None` once it has ended.
    watched: Mutex<Option<ProgramWatch>>,
    /// Files that it left at protected paths, known once it has ended.
    aside: Mutex<Vec<String>>,
    /// The trust level of its output.
    read: LeastTrust,
}

impl BackgroundProgram {
    pub(super) fn new(details: ProgramDetails, watched: ProgramWatch) -> Self {
        Self {
            details,
            reached: watched.reached_hosts(),
            output: Mutex::default(),
            changed: Notify::new(),
            watched: Mutex::new(Some(watched)),
            aside: Mutex::default(),
            read: LeastTrust::default(),
        }
    }

    /// Adds printed bytes.
    pub(super) fn add_output(&self, bytes: &[u8]) {
        self.output.lock().push(bytes);
        self.changed.notify_waiters();
    }

    pub(super) fn mark_ended(&self, ran: Result<ProgramResult, SandboxError>, at: Duration) {
        self.output.lock().end = Some(BackgroundEnd { how: ran.map(|ran| ran.ended), at });
        self.changed.notify_waiters();
    }

    /// The lowest trust level of the data that it has read so far.
    pub(super) fn least_trust(&self) -> Trust {
        if let Some(watched) = &*self.watched.lock() {
            self.read.lower_to(watched.least_trust());
        }
        self.read.get()
    }

    /// Marks the files that the program changed, once all its processes have ended.
    pub(super) async fn settle_changes(&self) {
        self.read.lower_to(self.least_trust());
        let Some(watched) = self.watched.lock().take() else { return };
        let (read, aside) = watched.settle_changes().await;
        self.read.lower_to(read);
        *self.aside.lock() = aside;
    }

    /// Returns the clock's `elapsed` at its end; `None` while it runs.
    pub(super) fn ended_at(&self) -> Option<Duration> {
        self.output.lock().end.as_ref().map(|end| end.at)
    }

    pub(super) fn unread_bytes(&self) -> usize {
        self.output.lock().unread.len()
    }

    pub(super) fn is_running(&self) -> bool {
        self.ended_at().is_none()
    }

    /// Waits for unread output or for the end.
    pub(super) async fn wait_for_news(&self) {
        self.wait_until(|output| output.end.is_some() || !output.unread.is_empty()).await;
    }

    pub(super) async fn wait_for_end(&self) {
        self.wait_until(|output| output.end.is_some()).await;
    }

    async fn wait_until(&self, holds: impl Fn(&UnreadOutput) -> bool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Register first, so that a change during the check below wakes us.
            changed.as_mut().enable();
            if holds(&self.output.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Takes the unread output.
    pub(super) fn read(&self) -> String {
        self.output.lock().read()
    }

    /// The program's id, command and state, for the model.
    pub(super) fn state_json(&self, now: Duration) -> Map<String, Value> {
        let end = self.output.lock().end.clone();
        let until = end.as_ref().map_or(now, |end| end.at);
        let mut state = Map::new();
        let mut put = |key: &str, value: Value| state.insert(key.to_owned(), value);
        let ProgramDetails { id, command, started, limit, .. } = &self.details;
        put("id", id.clone().into());
        put("command", command.clone().into());
        put("running", end.is_none().into());
        put("seconds", until.saturating_sub(*started).as_secs().into());
        match end.map(|end| end.how) {
            None => {}
            Some(Ok(ProgramEnd::Code(code))) => drop(put("exit_code", code.into())),
            Some(Ok(ProgramEnd::Signal(signal))) => drop(put("killed_by_signal", signal.into())),
            Some(Ok(ProgramEnd::TimedOut)) => {
                let why = format!("killed after its limit of {} seconds", limit.as_secs());
                put("ended", why.into());
            }
            Some(Ok(ProgramEnd::Cancelled)) => drop(put("ended", "killed".into())),
            Some(Err(error)) => drop(put("ended", format!("never started: {error}").into())),
        }
        let aside = self.aside.lock().clone();
        ProgramNotes { reached: self.reached.host_names(), aside, read_only: Vec::new() }
            .add_to(&mut state);
        state
    }
}

/// Output that was received and is still unread.
#[derive(Debug, Default)]
struct UnreadOutput {
    unread: VecDeque<u8>,
    /// Bytes dropped unread because the buffer was full.
    lost: u64,
    end: Option<BackgroundEnd>,
}

#[derive(Debug, Clone)]
struct BackgroundEnd {
    how: Result<ProgramEnd, SandboxError>,
    at: Duration,
}

impl UnreadOutput {
    fn push(&mut self, bytes: &[u8]) {
        self.unread.extend(bytes);
        let surplus = self.unread.len().saturating_sub(KEPT_BYTES);
        self.unread.drain(..surplus);
        self.lost += surplus as u64;
    }

    /// Takes all unread output, except an incomplete character at its end.
    fn read(&mut self) -> String {
        let unread = self.unread.make_contiguous();
        let whole = match std::str::from_utf8(unread) {
            Err(error) if error.error_len().is_none() && self.end.is_none() => error.valid_up_to(),
            _ => unread.len(),
        };
        let bytes: Vec<u8> = self.unread.drain(..whole).collect();
        let text = String::from_utf8_lossy(&bytes);
        match std::mem::take(&mut self.lost) {
            0 => text.into_owned(),
            lost => format!("[… {lost} bytes were not read in time and are lost …]\n{text}"),
        }
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
