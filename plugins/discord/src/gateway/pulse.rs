//! The deadlines of a connection: its heartbeats, and the times after which the other side counts
//! as dead.

use std::time::Duration;

/// Time that an acknowledgement, or the beginning of a session, may take. The usual interval is
/// 41.25 s. So a dead connection is noticed, and made again, within 60 s (F9).
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// The deadlines of a connection, by the clock's `elapsed`.
#[derive(Debug)]
pub(super) struct Pulse {
    interval: Duration,
    next: Duration,
    /// Deadline for the acknowledgement of a sent heartbeat.
    acknowledged_by: Option<Duration>,
    /// Deadline for the beginning of the session, or for its resumption.
    begun_by: Option<Duration>,
}

impl Pulse {
    /// The first heartbeat is due after a part of the interval, `jitter` thousandths of it. So
    /// clients that were disconnected together send theirs at different times.
    pub(super) fn new(interval: Duration, now: Duration, jitter: u32) -> Self {
        let next = now + interval * jitter.min(1000) / 1000;
        Self { interval, next, acknowledged_by: None, begun_by: Some(now + PATIENCE) }
    }

    /// Returns the time until the next deadline; until then the connection only listens.
    pub(super) fn quiet(&self, now: Duration) -> Duration {
        let limits = self.acknowledged_by.into_iter().chain(self.begun_by);
        limits.fold(self.next, Duration::min).saturating_sub(now)
    }

    /// Returns the time until the next heartbeat.
    pub(super) fn until_beat(&self, now: Duration) -> Duration {
        self.next.saturating_sub(now)
    }

    /// Returns the reason why the other side counts as dead, if it does.
    pub(super) fn dead(&self, now: Duration) -> Option<&'static str> {
        let over = |limit: Option<Duration>| limit.is_some_and(|limit| limit <= now);
        if over(self.acknowledged_by) {
            return Some("heartbeats are not answered");
        }
        over(self.begun_by).then_some("no session begins")
    }

    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next <= now
    }

    /// Notes a sent heartbeat.
    pub(super) fn beat(&mut self, now: Duration) {
        self.next = now + self.interval;
        let limit = now + self.interval.min(PATIENCE);
        self.acknowledged_by.get_or_insert(limit);
    }

    /// Notes that the heartbeat is acknowledged.
    pub(super) fn acknowledged(&mut self) {
        self.acknowledged_by = None;
    }

    /// Extends the deadline of the session: the missed events before its resumption are coming in.
    pub(super) fn heard(&mut self, now: Duration) {
        self.begun_by = self.begun_by.map(|_| now + PATIENCE);
    }

    /// Notes that the session has begun, or was resumed.
    pub(super) fn begun(&mut self) {
        self.begun_by = None;
    }

    /// Extends the deadlines after a pause in reading: the expected data may be there already.
    pub(super) fn excuse(&mut self, now: Duration) {
        self.acknowledged_by = self.acknowledged_by.map(|_| now + PATIENCE);
        self.heard(now);
    }
}

#[cfg(test)]
#[path = "pulse_tests.rs"]
mod tests;
