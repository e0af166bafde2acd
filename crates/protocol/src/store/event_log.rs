//! The event log: each change of state, numbered, for other programs.

mod kind;
mod logged;

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::Result;
use crate::chat::SessionId;
use crate::clock::Timestamp;
use crate::ids::{CallId, SubscriberName, TurnId};
use crate::turn::TraceSubject;

pub use kind::{EventKind, event_kinds};
pub use logged::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventMemory, EventMessage,
    EventSchedule, EventTool, EventTurn, EventUsage, LogEvent,
};

/// The events of the log, and the programs that follow them.
#[async_trait]
pub trait EventLog: fmt::Debug + Send + Sync {
    /// Returns the identity of the log, and the events that it holds.
    async fn event_range(&self) -> Result<EventRange>;

    /// Returns the next events behind `after` that match the filter, oldest first. One page reads a
    /// limited part of the log, so that it may be empty before the end.
    async fn events(&self, after: EventSeq, filter: &EventFilter, limit: u32) -> Result<EventPage>;

    /// Returns the events of a message, its turn, the turn's sub-agents, and their deliveries; of a
    /// turn, the same with all its messages; of a delivery, those of its turn, or its own if another
    /// program sent it. Empty if the log has no such row, or has removed its events.
    async fn traced_events(&self, subject: TraceSubject) -> Result<Vec<LogEvent>>;

    /// Returns the events that led to an event of a turn or of its delivery. `None` if the event
    /// belongs to no turn, or if the log has removed the turn.
    async fn event_history(&self, event: &LogEvent) -> Result<Option<EventHistory>>;

    /// Watches the number of the newest committed event.
    fn newest_event(&self) -> watch::Receiver<EventSeq>;

    /// Returns the last event that a subscriber has confirmed. A new subscriber is recorded with
    /// `from`, or without it with the newest event.
    async fn subscribe(&self, name: &SubscriberName, from: Option<EventSeq>) -> Result<EventSeq>;

    /// Records that a subscriber has all events up to this one.
    async fn confirm_events(&self, name: &SubscriberName, upto: EventSeq) -> Result<()>;

    /// Returns all subscribers, in the order of their names.
    async fn subscribers(&self) -> Result<Vec<Subscriber>>;

    /// Removes a subscriber. Returns `false` if there is none with this name.
    async fn remove_subscriber(&self, name: &SubscriberName) -> Result<bool>;
}

/// The number of an event. Numbers rise; after a roll-back of the log they jump ahead.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(try_from = "i64", into = "i64")]
pub struct EventSeq(pub i64);

impl fmt::Display for EventSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for EventSeq {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse::<i64>().ok().and_then(|number| number.try_into().ok());
        number.ok_or_else(|| format!("{text:?} is not the number of an event: 0 or more"))
    }
}

impl TryFrom<i64> for EventSeq {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        if number < 0 {
            return Err(format!("{number} is not the number of an event: 0 or more"));
        }
        Ok(Self(number))
    }
}

impl From<EventSeq> for i64 {
    fn from(seq: EventSeq) -> Self {
        seq.0
    }
}

/// The events that a log holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRange {
    /// The identity of the log. It changes when the log was rolled back or replaced.
    pub log: String,
    /// The oldest event that was not removed; `None` for a log without events.
    pub oldest: Option<EventSeq>,
    /// The newest event; 0 if there never was one.
    pub newest: EventSeq,
}

impl EventRange {
    /// Returns the number of events behind `after` that were removed, at most.
    #[must_use]
    pub fn removed_after(&self, after: EventSeq) -> i64 {
        let oldest = self.oldest.map_or(self.newest.0 + 1, |oldest| oldest.0);
        (oldest - 1 - after.0).max(0)
    }
}

/// Selects events. Without conditions, all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of these kinds. Empty for all kinds.
    pub kinds: Vec<EventKind>,
}

/// A part of the event log.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<LogEvent>,
    /// The position behind this page, from which the next one continues.
    pub next: EventSeq,
}

/// The events that led to one event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventHistory {
    /// The turn of the event.
    pub turn: TurnId,
    /// The turn that a message began: the turn itself, or the first ancestor of a sub-agent.
    pub root: TurnId,
    /// Of a sub-agent: the turn that started it.
    pub parent: Option<TurnId>,
    /// Of a sub-agent: the call that waits for it; `None` in the background.
    pub call: Option<CallId>,
    /// Oldest first. Of a turn: its own events and those of its messages, without deliveries and
    /// sub-agents. Of a delivery: its own events.
    pub events: Vec<LogEvent>,
}

/// A program that follows the events under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subscriber {
    /// Its name.
    pub name: SubscriberName,
    /// The last event that it has confirmed.
    pub seq: EventSeq,
    /// The time of its last confirmation.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_after_counts_events_before_the_oldest_one() {
        let range = |oldest: Option<i64>, newest| EventRange {
            log: String::new(),
            oldest: oldest.map(EventSeq),
            newest: EventSeq(newest),
        };
        for (range, after, removed) in [
            (range(Some(1), 9), 0, 0),
            (range(Some(5), 9), 0, 4),
            (range(Some(5), 9), 4, 0),
            (range(Some(5), 9), 9, 0),
            (range(None, 0), 0, 0),
            (range(None, 9), 3, 6),
        ] {
            assert_eq!(range.removed_after(EventSeq(after)), removed, "{range:?} after {after}");
        }
    }
}
