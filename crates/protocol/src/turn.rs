//! A turn in the log: its origin, its steps, and the outcome of its calls.

mod call_result;
mod ending;
mod events;
mod failure;
mod trace;
mod trace_subject;

pub use call_result::{CallResult, ResultKind};
pub use ending::{AnswerEnding, CUT_OFF, FILTERED};
pub use events::{AnswerRequest, StartedMessage, TurnEvent, TurnEvents};
pub use failure::{FailedRequest, FailureCode, TurnFailure};
pub use trace::{TraceSpan, TraceWork, trace};
pub use trace_subject::TraceSubject;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Trust;
use crate::chat::{ChatAddress, LoggedInbound, SessionId};
use crate::clock::Timestamp;
use crate::ids::{CallId, TurnId};
use crate::memory::RecalledMemory;
use crate::model::{Reasoning, ToolCall, Usage};
use crate::tool::{ChildMode, Evidence};

/// One answer to one or several inbound messages, or one task of a parent turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRecord {
    /// Its number.
    pub id: TurnId,
    /// The conversation that it belongs to.
    pub session: SessionId,
    /// Its state.
    pub state: TurnState,
    /// The start of the turn.
    pub started_at: Timestamp,
    /// The messages or the task that started it.
    pub origin: Origin,
    /// The model calls made so far, in order.
    pub steps: Vec<Step>,
    /// The text shown in place of a reply: an error or a limit.
    pub notice: Option<String>,
    /// Lost messages that this turn reports to its model. The list never changes.
    #[serde(default, skip_serializing_if = "Undelivered::is_empty")]
    pub undelivered: Undelivered,
    /// Memories that the requests of this turn contain. Logged with its first step or its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<RecalledMemory>,
    /// Texts that the chat has received from other sessions and that this turn shows to its model.
    /// The list never changes.
    #[serde(default, skip_serializing_if = "SessionReports::is_empty")]
    pub reports: SessionReports,
}

/// Messages of a conversation whose delivery failed since its last turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undelivered {
    /// The last of them, 5 at most, oldest first.
    pub messages: Vec<LostMessage>,
    /// Number of older lost messages.
    pub more: u64,
}

impl Undelivered {
    /// The most messages that are reported to a model one by one.
    pub const MOST: usize = 5;

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// A short description of a message whose delivery failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostMessage {
    /// The destination.
    pub chat: ChatAddress,
    /// The message in one line.
    pub what: String,
    /// The reason why it was abandoned, in one line.
    pub why: String,
    /// `true` if it may have arrived.
    pub unconfirmed: bool,
    /// The trust of the text in `what`.
    pub trust: Trust,
}

/// Texts that a chat has received from other sessions since the last turn of its own session, for
/// example the answers of scheduled tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionReports {
    /// The last of them, 5 at most, oldest first.
    pub texts: Vec<SessionReport>,
    /// Number of older texts.
    pub more: u64,
}

impl SessionReports {
    /// The most texts that are shown to a model one by one.
    pub const MOST: usize = 5;

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// A text that a chat has received from another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionReport {
    /// The session that sent the text.
    pub from: SessionId,
    /// The chat that received it.
    pub chat: ChatAddress,
    /// The beginning of the text, 2,000 characters at most.
    pub text: String,
    /// The time at which it was sent.
    pub at: Timestamp,
    /// The trust of the text.
    pub trust: Trust,
}

impl SessionReport {
    /// The number of characters of a text that are kept.
    pub const MAX_CHARS: usize = 2000;
}

impl TurnRecord {
    /// Returns the tokens used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.steps.iter().fold(Usage::default(), |sum, step| sum + step.usage)
    }

    /// Returns the final text of the turn; `None` if its last step called tools, or it has no step.
    #[must_use]
    pub fn final_text(&self) -> Option<&str> {
        self.steps.last().filter(|step| step.calls.is_empty()).map(|step| step.text.as_str())
    }
}

/// The messages or the task that started a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Messages from people or processes, in order.
    Messages(Vec<LoggedInbound>),
    /// A task of another turn.
    Child {
        /// The turn that started it.
        parent: TurnId,
        /// The task.
        prompt: String,
        /// The trust of the request that led to it.
        trust: Trust,
        /// A short name of the task, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The receiver of its final text.
        #[serde(default, skip_serializing_if = "ChildMode::is_awaited")]
        mode: ChildMode,
    },
}

impl Origin {
    /// Returns the messages; empty for a child.
    #[must_use]
    pub fn messages(&self) -> &[LoggedInbound] {
        match self {
            Self::Messages(messages) => messages,
            Self::Child { .. } => &[],
        }
    }
}

/// The beginning of the result of a call that an owner has denied. For the model; programs read
/// [`ResultKind::Denied`].
pub(crate) const DENIED: &str = "denied by the owner";

/// The end of an answer that a person has stopped.
pub const STOPPED: &str = "… (stopped)";

/// The state of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    /// Ready to run (again).
    Queued,
    /// A lane works on it.
    Running,
    /// Waits for an event from outside, without a lane.
    Waiting,
    /// Ended with a reply, or with a recorded reason for having none.
    Done,
    /// Stopped by its sender.
    Cancelled,
    /// Ended with a visible error.
    Failed,
}

impl TurnState {
    /// In the order of declaration.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Waiting, Self::Done, Self::Cancelled, Self::Failed];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

/// One model call of a turn and its tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// From 0.
    pub number: u32,
    /// The text of the model.
    pub text: String,
    /// The end of the model's text.
    #[serde(default, skip_serializing_if = "AnswerEnding::is_complete")]
    pub ending: AnswerEnding,
    /// The tokens of the model call.
    pub usage: Usage,
    /// The least trust of the text in the request, because any of it may influence the step.
    pub trust: Trust,
    /// The tools that the model called; empty for the step that ends a turn.
    pub calls: Vec<LoggedCall>,
    /// The whole reply of the model, if calls were read from its text; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// Reasoning that the model needs back together with these calls. Left out of transcripts.
    #[serde(skip)]
    pub reasoning: Option<Reasoning>,
    /// `true` if every call has its result and the step is closed.
    pub closed: bool,
    /// Messages that steered the turn after this step.
    pub steered: Vec<LoggedInbound>,
}

/// A tool call in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedCall {
    /// Its id.
    pub id: CallId,
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// Its state.
    pub state: CallState,
    /// A digest of the question that a person saw and approved.
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

/// The state of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// To be run.
    Planned,
    /// Running.
    Started,
    /// The process died, or was stopped, between start and finish.
    Interrupted {
        /// The state that a verifiable tool recorded before it acted.
        evidence: Option<Evidence>,
    },
    /// The turn waits for an event before this call can continue.
    Waiting,
    /// The call has its result.
    Finished(CallResult),
}
