//! The queue of updates: their lifetimes, and the effect of an offset.

use std::collections::VecDeque;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::{Value, json};

/// Lifetime of an update (getting updates, Bot API).
pub const UPDATE_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Lifetime of a button press, in the queue and for an answer. The Bot API server keeps it in the
/// queue for this time.
pub const CALLBACK_KEPT: Duration = Duration::from_secs(150);
/// Maximum distance of a valid offset from the next id. A higher offset belongs to another
/// sequence.
const FAR: i64 = 10;
/// Kinds that are sent only if the bot requests them.
const ON_REQUEST: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

/// The parameters of a poll, within the platform's limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Poll {
    pub(super) offset: i64,
    pub(super) limit: usize,
    /// Zero for an answer at once.
    pub(super) timeout: Duration,
}

impl Poll {
    /// Limits numbers to the valid range, like the platform.
    pub(super) fn new(offset: Option<i64>, limit: Option<i64>, timeout: Option<i64>) -> Self {
        let clamp = |value: Option<i64>, default, least, most| {
            let value = value.unwrap_or(default).clamp(least, most);
            u64::try_from(value).unwrap()
        };
        Self {
            offset: offset.unwrap_or(0),
            limit: usize::try_from(clamp(limit, 100, 1, 100)).unwrap(),
            timeout: Duration::from_secs(clamp(timeout, 0, 0, 50)),
        }
    }
}

#[derive(Debug)]
struct Update {
    id: i64,
    shown: Value,
    forgotten_at: Timestamp,
}

/// The queue of updates for the bot.
#[derive(Debug)]
pub(super) struct Updates {
    queue: VecDeque<Update>,
    next: i64,
    allowed: Option<Vec<String>>,
}

impl Default for Updates {
    fn default() -> Self {
        Self { queue: VecDeque::new(), next: 1000, allowed: None }
    }
}

impl Updates {
    /// Queues an update if the bot has requested its kind.
    pub(super) fn push(&mut self, kind: &str, body: Value, now: Timestamp) -> Option<i64> {
        let wanted = match &self.allowed {
            Some(allowed) => allowed.iter().any(|allowed| allowed == kind),
            None => !ON_REQUEST.contains(&kind),
        };
        wanted.then(|| self.push_unasked(kind, body, now))
    }

    /// Queues an update of any kind, requested or not.
    pub(super) fn push_unasked(&mut self, kind: &str, body: Value, now: Timestamp) -> i64 {
        let kept = if kind == "callback_query" { CALLBACK_KEPT } else { UPDATE_KEPT };
        let mut shown = json!({ "update_id": self.next });
        shown[kind] = body;
        self.queue(shown, now.after(kept))
    }

    /// Queues this update unchanged. Returns its id.
    pub(super) fn push_whole(&mut self, shown: Value, now: Timestamp) -> i64 {
        self.queue(shown, now.after(UPDATE_KEPT))
    }

    fn queue(&mut self, shown: Value, forgotten_at: Timestamp) -> i64 {
        let id = self.next;
        self.queue.push_back(Update { id, shown, forgotten_at });
        self.next += 1;
        id
    }

    /// Sets the kinds of future updates. An empty list stands for the default. Queued updates stay.
    pub(super) fn allow(&mut self, kinds: &[Value]) {
        let kinds: Vec<String> =
            kinds.iter().filter_map(|kind| Some(kind.as_str()?.to_ascii_lowercase())).collect();
        self.allowed = (!kinds.is_empty()).then_some(kinds);
    }

    /// Removes confirmed and expired updates, and returns the others. A negative offset counts from
    /// the end. An offset of another sequence confirms nothing.
    pub(super) fn read(&mut self, offset: i64, limit: usize, now: Timestamp) -> Vec<Value> {
        let from = if offset < 0 { self.next + offset } else { offset };
        if from <= self.next + FAR {
            self.queue.retain(|update| update.id >= from);
        }
        self.queue.retain(|update| update.forgotten_at > now);
        self.queue.iter().take(limit).map(|update| update.shown.clone()).collect()
    }

    /// Returns the unconfirmed updates.
    pub(super) fn pending(&self) -> Vec<Value> {
        self.queue.iter().map(|update| update.shown.clone()).collect()
    }

    /// Returns the oldest update that is kept, with its id.
    pub(super) fn first(&mut self, now: Timestamp) -> Option<(i64, Value)> {
        self.queue.retain(|update| update.forgotten_at > now);
        self.queue.front().map(|update| (update.id, update.shown.clone()))
    }

    /// Removes a delivered update.
    pub(super) fn remove(&mut self, id: i64) {
        self.queue.retain(|update| update.id != id);
    }

    /// Continues the ids elsewhere, as after a week without updates.
    pub(super) fn restart_ids(&mut self, next: i64) {
        assert!(self.queue.is_empty(), "ids restart only while nothing waits");
        self.next = next;
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Returns the ids of unconfirmed updates.
    pub(super) fn waiting(&self) -> Vec<i64> {
        self.queue.iter().map(|update| update.id).collect()
    }
}

#[cfg(test)]
#[path = "updates_tests.rs"]
mod tests;
