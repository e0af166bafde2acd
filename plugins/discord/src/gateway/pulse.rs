//! The heartbeat of a connection: when it is due, and when the other side counts as dead.

use std::time::Duration;

/// How long an acknowledgement, or a session's beginning, may take. The usual interval is 41.25 s: with
/// this a dead connection is noticed, and made again, within 60 s (F9).
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// When what is due on a connection. Times are the clock's `elapsed`.
#[derive(Debug)]
pub(super) struct Pulse {
    interval: Duration,
    next: Duration,
    /// When a heartbeat that is out has to be acknowledged.
    acknowledged_by: Option<Duration>,
    /// When the session has to have begun, or gone on.
    begun_by: Option<Duration>,
}

impl Pulse {
    /// The first heartbeat is due after a part of the interval, `jitter` thousandths of it, so that
    /// not all who were disconnected together beat together.
    pub(super) fn new(interval: Duration, now: Duration, jitter: u32) -> Self {
        let next = now + interval * jitter.min(1000) / 1000;
        Self { interval, next, acknowledged_by: None, begun_by: Some(now + PATIENCE) }
    }

    /// How long there is nothing to do but listen.
    pub(super) fn quiet(&self, now: Duration) -> Duration {
        let limits = self.acknowledged_by.into_iter().chain(self.begun_by);
        limits.fold(self.next, Duration::min).saturating_sub(now)
    }

    /// How long until the next heartbeat is due.
    pub(super) fn until_beat(&self, now: Duration) -> Duration {
        self.next.saturating_sub(now)
    }

    /// Why the other side counts as dead, if it does.
    pub(super) fn dead(&self, now: Duration) -> Option<&'static str> {
        let over = |limit: Option<Duration>| limit.is_some_and(|limit| limit <= now);
        if over(self.acknowledged_by) {
            return Some("heartbeats are not answered");
        }
        over(self.begun_by).then_some("no session begins")
    }

    /// Whether a heartbeat is due.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.next <= now
    }

    /// A heartbeat goes out.
    pub(super) fn beat(&mut self, now: Duration) {
        self.next = now + self.interval;
        let limit = now + self.interval.min(PATIENCE);
        self.acknowledged_by.get_or_insert(limit);
    }

    /// The heartbeat is acknowledged.
    pub(super) fn acknowledged(&mut self) {
        self.acknowledged_by = None;
    }

    /// Something was heard before the session has begun: events that were missed.
    pub(super) fn heard(&mut self, now: Duration) {
        self.begun_by = self.begun_by.map(|_| now + PATIENCE);
    }

    /// The session has begun, or goes on.
    pub(super) fn begun(&mut self) {
        self.begun_by = None;
    }

    /// Nobody listened for a while: what should have come may be there.
    pub(super) fn excuse(&mut self, now: Duration) {
        self.acknowledged_by = self.acknowledged_by.map(|_| now + PATIENCE);
        self.heard(now);
    }
}

#[cfg(test)]
#[path = "pulse_tests.rs"]
mod tests;
