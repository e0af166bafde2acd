//! The events of a running turn. They are for display; the log is the record.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Trust;
use crate::chat::{Outcome, SessionId};
use crate::ids::{CallId, MessageId, TurnId};
use crate::tool::WaitKind;

/// An event of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnEvent {
    /// A lane has claimed the turn.
    Started {
        /// The turn.
        turn: TurnId,
        /// The messages that it answers.
        messages: Vec<StartedMessage>,
    },
    /// The earlier conversation is being compacted, because it has become too long.
    #[serde(rename = "condensing")]
    Compacting,
    /// The model is being asked.
    Thinking {
        /// The step, from 0.
        step: u32,
    },
    /// The model reasons. Only for listeners that asked for thoughts, and not for a log: a thought
    /// is no part of the answer.
    Thought {
        /// The next piece.
        delta: String,
    },
    /// The model writes.
    Text {
        /// The next piece.
        delta: String,
    },
    /// The text of this step so far is void.
    Restarted,
    /// A tool runs.
    ToolStarted {
        /// The tool.
        name: String,
        /// Its main argument in one line, without secrets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<String>,
        /// The call in the log of the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// The program behind a running tool reports its progress.
    ToolProgress {
        /// The tool.
        name: String,
        /// The report on one line: untrusted text of the program.
        text: String,
    },
    /// A tool has run.
    ToolFinished {
        /// The tool.
        name: String,
        /// `true` if it succeeded.
        ok: bool,
        /// The call in the log of the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// The turn waits for an event from outside.
    Waiting {
        /// The kind of event.
        kind: WaitKind,
    },
    /// A person has made the decision that the turn waited for, and the turn continues.
    Resumed,
    /// The turn has ended, or a command has acted, and that is in the log.
    Ended {
        /// The turn; `None` for a command.
        turn: Option<TurnId>,
        /// The messages that it ended.
        messages: Vec<MessageId>,
        /// The outcome.
        outcome: Outcome,
    },
}

/// A message that a turn answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedMessage {
    /// Its number.
    pub id: MessageId,
    /// The author.
    pub sender: String,
    /// The text.
    pub text: String,
}

/// The request whose answer a model writes, as the next texts of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerRequest {
    /// The turn that asks.
    pub turn: TurnId,
    /// The step that the answer will be.
    pub step: u32,
    /// The trust level of the request.
    pub trust: Trust,
}

/// The port through which turns report events and listeners receive them.
pub trait TurnEvents: fmt::Debug + Send + Sync {
    /// Sends an event to the listeners. Never waits, so a slow listener misses events.
    fn emit(&self, session: &SessionId, event: TurnEvent);

    /// Listens to one session from now on, without the model's thoughts.
    fn subscribe(&self, session: &SessionId) -> flume::Receiver<TurnEvent>;

    /// Works as [`Self::subscribe`], with [`TurnEvent::Thought`] as well.
    fn subscribe_with_thoughts(&self, session: &SessionId) -> flume::Receiver<TurnEvent>;

    /// Notes the request that the next texts of a session answer. A `/stop` then keeps these texts.
    fn note_request(&self, _session: &SessionId, _request: AnswerRequest) {}
}
