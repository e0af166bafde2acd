//! The deadlines of a connection: for heartbeats, for their acknowledgements, and for the start of
//! a session.

use std::time::Duration;

/// Timeout for an acknowledgement, for HELLO, and for the start of a session. The usual interval of
/// heartbeats is 41.25 s, so a dead connection is noticed and replaced within 60 s (F9).
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(15);

/// The deadlines of a connection, by the clock's `elapsed`.
#[derive(Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    next: Duration,
    /// Deadline for the acknowledgement of a sent heartbeat.
    acknowledged_by: Option<Duration>,
    /// Deadline for the start of the session, or for its resumption.
    started_by: Option<Duration>,
}

impl Heartbeat {
    /// The first heartbeat is due after a part of the interval, `jitter` thousandths of it. So
    /// clients that were disconnected together send theirs at different times.
    pub(super) fn new(interval: Duration, now: Duration, jitter: u32) -> Self {
        let next = now + interval * jitter.min(1000) / 1000;
        Self { interval, next, acknowledged_by: None, started_by: Some(now + REPLY_TIMEOUT) }
    }

    /// Returns the time until the next deadline.
    pub(super) fn until_deadline(&self, now: Duration) -> Duration {
        let limits = self.acknowledged_by.into_iter().chain(self.started_by);
        limits.fold(self.next, Duration::min).saturating_sub(now)
    }

    /// Returns the time until the next heartbeat.
    pub(super) fn until_heartbeat(&self, now: Duration) -> Duration {
        self.next.saturating_sub(now)
    }

    /// Returns a text about the missed deadline; `None` while the connection counts as alive.
    pub(super) fn missed_deadline(&self, now: Duration) -> Option<&'static str> {
        let over = |limit: Option<Duration>| limit.is_some_and(|limit| limit <= now);
        if over(self.acknowledged_by) {
            return Some("no answer to heartbeats");
        }
        over(self.started_by).then_some("no session begins")
    }

    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next <= now
    }

    /// Notes a sent heartbeat.
    pub(super) fn sent(&mut self, now: Duration) {
        self.next = now + self.interval;
        let limit = now + self.interval.min(REPLY_TIMEOUT);
        self.acknowledged_by.get_or_insert(limit);
    }

    /// Notes that the heartbeat is acknowledged.
    pub(super) fn acknowledged(&mut self) {
        self.acknowledged_by = None;
    }

    /// Notes a received payload. It extends the deadline of the session, because missed events come
    /// before the end of a resumption.
    pub(super) fn received(&mut self, now: Duration) {
        self.started_by = self.started_by.map(|_| now + REPLY_TIMEOUT);
    }

    /// Notes that the session has started, or was resumed.
    pub(super) fn session_started(&mut self) {
        self.started_by = None;
    }

    /// Extends the deadlines after a pause in reading: the expected data may be there already.
    pub(super) fn extend(&mut self, now: Duration) {
        self.acknowledged_by = self.acknowledged_by.map(|_| now + REPLY_TIMEOUT);
        self.received(now);
    }
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
