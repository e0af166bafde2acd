//! The event log: each change of state, numbered, for other programs.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{Purpose, Result};
use crate::{
    CallId, ChatAddress, Choice, DeliveryId, MemoryChangeId, MemoryId, MessageId, Money, Outcome,
    PlatformId, ScheduleId, SenderId, SessionId, SubscriberName, Timestamp, TurnId, Usage,
    WaitKind,
};

/// The events of the log, and the programs that follow them.
#[async_trait]
pub trait EventLog: fmt::Debug + Send + Sync {
    /// Returns the identity of the log, and the events that it holds.
    async fn event_range(&self) -> Result<EventRange>;

    /// Returns the next events behind `after` that match the filter, oldest first. One page reads a
    /// limited part of the log, so that it may be empty before the end.
    async fn events(&self, after: EventSeq, filter: &EventFilter, limit: u32) -> Result<EventPage>;

    /// Returns the events of a message, its turn, the turn's sub-agents, and their deliveries.
    /// Empty if the log has no such message, or has removed its events.
    async fn message_events(&self, message: MessageId) -> Result<Vec<LogEvent>>;

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
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
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

/// One event. The details are those of the log at the time of reading: a text that was removed
/// since is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEvent {
    /// Its number.
    pub seq: EventSeq,
    /// The time of its transaction.
    pub at: Timestamp,
    /// The change.
    pub kind: EventKind,
    /// The session; `None` if it concerns none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The step of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Details of the kind; `None` if the log has removed them.
    #[serde(flatten)]
    pub detail: Option<EventDetail>,
}

/// The details of an event, as the log has them at the time of reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventDetail {
    /// Of `message.*`.
    Message(EventMessage),
    /// Of `turn.*`.
    TurnInfo(EventTurn),
    /// Of `model.answered`.
    Answer(EventAnswer),
    /// Of `usage.recorded`.
    Usage(EventUsage),
    /// Of `call.*`.
    Tool(EventTool),
    /// Of `delivery.*`.
    Delivery(EventDelivery),
    /// Of `memory.*`.
    Memory(EventMemory),
    /// Of `schedule.*`.
    Schedule(EventSchedule),
}

/// A message from a person, a program or a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMessage {
    /// Its number.
    pub id: MessageId,
    /// Its chat.
    pub chat: ChatAddress,
    /// The author.
    pub sender: SenderId,
    /// The name of the author, if the platform gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// `true` for a command such as `/new`.
    pub is_command: bool,
    /// The text, with a line for each file.
    pub text: String,
    /// The outcome; `None` before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The answer to a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTurn {
    /// Of a sub-agent: the turn that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TurnId>,
    /// Of a sub-agent: a short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The events for which it waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<WaitKind>,
    /// The answer with which it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The text that the chat got instead of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAnswer {
    /// The text; may be empty if there are calls.
    pub text: String,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// The names of the tools that it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// The cost of a request to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventUsage {
    /// `provider/model`.
    pub model: String,
    /// The purpose of the request.
    pub purpose: Purpose,
    /// Tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// The cost; `None` for an unknown price.
    pub cost: Option<Money>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventTool {
    /// The name of the tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// `true` if it succeeded; `None` without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Bytes of the result, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
}

/// A part of a message to a chat. A platform limits the length of a message, so that a long one
/// has several parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDelivery {
    /// Its number.
    pub id: DeliveryId,
    /// The chat.
    pub chat: ChatAddress,
    /// `reply`, `tool`, `prompt`, `notice`, or `process` for another program.
    pub source: String,
    /// The number of the part, from 0.
    pub part: u32,
    /// The text, with a line for each file.
    pub text: String,
    /// Buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Number of sends.
    pub attempts: u32,
    /// `true` if it was sent again although it may have arrived.
    pub repeat: bool,
    /// The platform's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_id: Option<PlatformId>,
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A memory after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMemory {
    /// Its number.
    pub id: MemoryId,
    /// The number of the change.
    pub change: MemoryChangeId,
    /// Its readers: `person ID`, `chat SESSION` or `everyone`.
    pub scope: String,
    /// The text after the change; `None` if it is forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSchedule {
    /// Its number.
    pub id: ScheduleId,
    /// The chat that gets its answers.
    pub chat: ChatAddress,
    /// The text, task or checklist.
    pub body: String,
    /// The next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// A program that follows the events under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscriber {
    /// Its name.
    pub name: SubscriberName,
    /// The last event that it has confirmed.
    pub seq: EventSeq,
    /// The time of its last confirmation.
    pub at: Timestamp,
}

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident = $word:literal,)*) => {
        /// The kind of an event: a table of the log and the new state of its row.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum EventKind {
            $($(#[$doc])* #[serde(rename = $word)] $kind,)*
        }

        impl EventKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The word in the log, on the socket and in the command.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}

event_kinds! {
    /// A daemon has opened the log.
    DaemonStarted = "daemon.started",
    /// The log has returned to an earlier state. Numbers of events have jumped ahead.
    LogRolledBack = "log.rolled_back",
    /// A message was accepted.
    MessageQueued = "message.queued",
    /// Its author has edited it.
    MessageCorrected = "message.corrected",
    /// It has an outcome.
    MessageDone = "message.done",
    /// It was dropped.
    MessageDead = "message.dead",
    /// A turn waits for its lane.
    TurnQueued = "turn.queued",
    /// A lane runs it.
    TurnRunning = "turn.running",
    /// It waits for a person or a sub-agent.
    TurnWaiting = "turn.waiting",
    /// It ended with an answer.
    TurnDone = "turn.done",
    /// It was stopped.
    TurnCancelled = "turn.cancelled",
    /// It ended without an answer.
    TurnFailed = "turn.failed",
    /// A model has answered, with a text, with calls, or with both.
    ModelAnswered = "model.answered",
    /// The tokens and the cost of a request to a model were recorded.
    UsageRecorded = "usage.recorded",
    /// A call that does more than read was started.
    CallStarted = "call.started",
    /// A call waits for a person or a sub-agent.
    CallWaiting = "call.waiting",
    /// A call was under way when the process ended.
    CallInterrupted = "call.interrupted",
    /// A call has its result.
    CallFinished = "call.finished",
    /// A part of a message waits for its delivery, for the first time or again.
    DeliveryPending = "delivery.pending",
    /// It is being sent.
    DeliverySending = "delivery.sending",
    /// The platform has accepted it.
    DeliverySent = "delivery.sent",
    /// A send had no known outcome.
    DeliveryUnknown = "delivery.unknown",
    /// No send of it was confirmed; the daemon has stopped trying.
    DeliveryUnconfirmed = "delivery.unconfirmed",
    /// The platform has refused it for good.
    DeliveryDead = "delivery.dead",
    /// A memory was written or changed.
    MemoryWritten = "memory.written",
    /// A memory was forgotten.
    MemoryForgotten = "memory.forgotten",
    /// The last change of a memory was undone.
    MemoryUndone = "memory.undone",
    /// A schedule runs from now on.
    ScheduleActive = "schedule.active",
    /// A schedule pauses.
    SchedulePaused = "schedule.paused",
    /// A schedule has ended.
    ScheduleEnded = "schedule.ended",
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Parses a pattern of kinds: a whole kind, or the part before the dot for all kinds of a table.
///
/// # Errors
/// A text with all kinds, if no kind matches.
pub fn event_kinds(pattern: &str) -> Result<Vec<EventKind>, String> {
    let matches = |kind: &EventKind| {
        kind.word() == pattern
            || kind.word().split_once('.').is_some_and(|(table, _)| table == pattern)
    };
    let kinds: Vec<_> = EventKind::ALL.iter().copied().filter(matches).collect();
    if kinds.is_empty() {
        let all: Vec<_> = EventKind::ALL.iter().map(|kind| kind.word()).collect();
        return Err(format!("there is no kind {pattern:?}; there are {}", all.join(", ")));
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_kinds_accepts_a_kind_or_the_name_of_a_table() {
        assert_eq!(event_kinds("turn.done"), Ok(vec![EventKind::TurnDone]));
        assert_eq!(event_kinds("message").map(|kinds| kinds.len()), Ok(4));
        for pattern in ["", "turn.", "turn.*", "Turn", "done"] {
            let error = event_kinds(pattern).unwrap_err();
            assert!(error.contains("there are daemon.started, "), "{error}");
        }
    }

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
