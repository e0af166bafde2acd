//! The kinds of events.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident = $word:literal,)*) => {
        /// The kind of an event: a table of the log and the new state of its row.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum EventKind {
            $($(#[$doc])* #[serde(rename = $word)] $kind,)*
        }

        impl EventKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The word in the log, on the socket and in the command.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }

            /// The part of the word behind the dot: `done` of `turn.done`.
            #[must_use]
            pub fn state(self) -> &'static str {
                self.as_str().rsplit('.').next().unwrap_or_default()
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
    /// A request to a model failed and was made again.
    RequestFailed = "request.failed",
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
        f.write_str(self.as_str())
    }
}

/// Parses a pattern of kinds: a whole kind, or the part before the dot for all kinds of a table.
///
/// # Errors
/// A text with all kinds, if no kind matches.
pub fn event_kinds(pattern: &str) -> Result<Vec<EventKind>, String> {
    let matches = |kind: &EventKind| {
        kind.as_str() == pattern
            || kind.as_str().split_once('.').is_some_and(|(table, _)| table == pattern)
    };
    let kinds: Vec<_> = EventKind::ALL.iter().copied().filter(matches).collect();
    if kinds.is_empty() {
        let all: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
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
}
