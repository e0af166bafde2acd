//! A turn as it stands in the log: what was asked, which steps were made, what became of the calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approvals::{DENIED, EXPIRED};
use crate::{
    CallId, ChatAddress, Evidence, LoggedInbound, Reasoning, SessionId, Timestamp, ToolCall, Trust,
    TurnId, Usage,
};

/// One answer to one or several inbound messages, or one errand of a parent turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// Its number.
    pub id: TurnId,
    /// The conversation it belongs to.
    pub session: SessionId,
    /// Where it stands.
    pub state: TurnState,
    /// When it was started.
    pub started_at: Timestamp,
    /// What it is about.
    pub origin: Origin,
    /// The model calls made so far, in order.
    pub steps: Vec<Step>,
    /// What the chat was shown instead of a reply: an error or a limit.
    pub notice: Option<String>,
    /// Messages of which the model is told at this turn. They never change.
    #[serde(default, skip_serializing_if = "Undelivered::is_empty")]
    pub undelivered: Undelivered,
}

/// Messages of a conversation that did not get through since its last turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undelivered {
    /// The last of them, [`Undelivered::MOST`] at most, oldest first.
    pub messages: Vec<LostMessage>,
    /// How many there were before these.
    pub more: u64,
}

impl Undelivered {
    /// Messages that a model is told of one by one.
    pub const MOST: usize = 5;

    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// A message that did not get through, in few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostMessage {
    /// Where it was to go.
    pub chat: ChatAddress,
    /// As [`crate::Content::in_short`].
    pub what: String,
    /// Why it was given up, in one line.
    pub why: String,
    /// Whether it may have arrived.
    pub unconfirmed: bool,
    /// The trust of the words in `what`.
    pub trust: Trust,
}

impl TurnRecord {
    /// Tokens used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.steps.iter().fold(Usage::default(), |sum, step| sum + step.usage)
    }

    /// The text that ended the turn, if it ended in one.
    #[must_use]
    pub fn final_text(&self) -> Option<&str> {
        self.steps.last().filter(|step| step.calls.is_empty()).map(|step| step.text.as_str())
    }
}

/// What a turn is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Messages from people or processes, in order.
    Messages(Vec<LoggedInbound>),
    /// An errand of another turn.
    Child {
        /// The turn that waits for it.
        parent: TurnId,
        /// What it is to do.
        prompt: String,
        /// The trust of the request that led to it.
        trust: Trust,
    },
}

impl Origin {
    /// The messages; none for a child.
    #[must_use]
    pub fn messages(&self) -> &[LoggedInbound] {
        match self {
            Self::Messages(messages) => messages,
            Self::Child { .. } => &[],
        }
    }
}

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    /// Ready to run (again).
    Queued,
    /// A lane works on it.
    Running,
    /// It waits for something from outside; no lane works on it.
    Waiting,
    /// It ended in a reply, or in a recorded reason why there is none.
    Done,
    /// Its sender stopped it.
    Cancelled,
    /// It ended in a visible error.
    Failed,
}

impl TurnState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Waiting, Self::Done, Self::Cancelled, Self::Failed];

    /// The word in the log and in what the CLI prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// One model call of a turn and the tool calls it led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// From 0.
    pub number: u32,
    /// What the model said.
    pub text: String,
    /// What the model call cost.
    pub usage: Usage,
    /// The least trust of what was in the request: whatever the step says may come from there.
    pub trust: Trust,
    /// The tools it called; empty for the step that ends a turn.
    pub calls: Vec<LoggedCall>,
    /// See [`ModelReply::written`](crate::ModelReply::written).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What the model wants to have back with these calls. No transcript has it.
    #[serde(skip)]
    pub reasoning: Option<Reasoning>,
    /// Whether every call has its result and the step is closed (T4).
    pub closed: bool,
    /// Messages that steered the turn after this step.
    pub steered: Vec<LoggedInbound>,
}

/// A tool call as it stands in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// Which call.
    pub id: CallId,
    /// What the model wrote.
    pub call: ToolCall,
    /// What became of it.
    pub state: CallState,
    /// A digest of what the person was shown who has allowed it.
    pub allowed: Option<String>,
}

impl LoggedCall {
    /// The result, once there is one.
    #[must_use]
    pub fn result(&self) -> Option<&CallResult> {
        match &self.state {
            CallState::Finished(result) => Some(result),
            _ => None,
        }
    }
}

/// What became of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// To be run.
    Planned,
    /// Under way.
    Started,
    /// The process died, or was stopped, between start and finish.
    Interrupted {
        /// What a verifiable tool noted before it acted.
        evidence: Option<Evidence>,
    },
    /// The turn waits for something before this call can go on.
    Waiting,
    /// It has its result.
    Finished(CallResult),
}

/// What a call came to, as the model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Whether it succeeded; otherwise `value` is `{"error": "..."}`.
    pub ok: bool,
    /// The result, cut to what a model is given at once.
    pub value: Value,
    /// How far it may be believed.
    pub trust: Trust,
}

impl CallResult {
    /// A result that may be believed.
    #[must_use]
    pub fn ok(value: Value) -> Self {
        Self { ok: true, value, trust: Trust::Full }
    }

    /// Whether the call did not run because its approval was denied or expired.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        let error = self.value["error"].as_str().filter(|_| !self.ok);
        error.is_some_and(|error| error.starts_with(DENIED) || error == EXPIRED)
    }

    /// The result of a call that failed: the object `{"error": "..."}`.
    #[must_use]
    pub fn error(message: &str) -> Self {
        Self { ok: false, value: serde_json::json!({ "error": message }), trust: Trust::Full }
    }
}
