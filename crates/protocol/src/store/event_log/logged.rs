//! The events, as the log has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{EventKind, EventSeq};
use crate::chat::{ChatAddress, Choice, Outcome, SessionId};
use crate::clock::Timestamp;
use crate::ids::{
    CallId, DeliveryId, MemoryChangeId, MemoryId, MessageId, PlatformId, ScheduleId, SenderId,
    TurnId,
};
use crate::model::{Money, Usage};
use crate::store::Purpose;
use crate::tool::WaitKind;
use crate::turn::TurnFailure;

/// One event. The details are those of the log at the time of reading: a text that was removed
/// since is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Of `request.failed`.
    FailedRequest(EventFailedRequest),
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The reason of a missing answer, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TurnFailure>,
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// A request to a model that failed and was made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventFailedRequest {
    /// The start.
    pub began: Timestamp,
    /// The time of the failure.
    pub ended: Timestamp,
    /// The purpose of the request.
    pub purpose: Purpose,
    /// The model and the reason.
    #[serde(flatten)]
    pub failure: TurnFailure,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The reason, if the call was refused by a rule or the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// A part of a message to a chat. A platform limits the length of a message, so that a long one
/// has several parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
