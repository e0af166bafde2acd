//! The outcome of a tool call: a result with its log writes, a wait, or an error.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Grant, Trust};
use crate::chat::{Content, Planned};
use crate::ids::{MemoryId, TurnId};
use crate::schedule::ScheduleWrite;
use crate::store::MemoryScope;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// The call has finished.
    Finished(ToolOutput),
    /// The result comes from outside, perhaps much later. The turn waits.
    Waiting(WaitRequest),
}

/// The result of a call and its writes to the log, committed together.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The result as the model reads it.
    pub value: Value,
    /// Writes that the store applies in the same transaction. Their children are `Background`.
    pub writes: Vec<LogWrite>,
    /// The trust level of the value; `None` for the one in the tool's description.
    pub trust: Option<Trust>,
}

impl ToolOutput {
    /// Makes a result with writes to the log.
    #[must_use]
    pub fn with_writes(value: Value, writes: Vec<LogWrite>) -> Self {
        Self { value, writes, trust: None }
    }
}

impl From<Value> for ToolOutcome {
    fn from(value: Value) -> Self {
        Self::Finished(ToolOutput::with_writes(value, Vec::new()))
    }
}

/// A write to the log that a tool requests. Only the store applies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogWrite {
    /// A message to a chat.
    Message(Planned),
    /// A new memory, with the trust of the request.
    Remember {
        /// The readers.
        scope: MemoryScope,
        /// The text.
        text: String,
    },
    /// A memory is forgotten. Does nothing if it was forgotten before.
    Forget {
        /// The memory.
        id: MemoryId,
    },
    /// A new or changed schedule.
    Schedule(ScheduleWrite),
    /// A child turn in its own session.
    Spawn(NewChild),
}

/// A child turn to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChild {
    /// Its number, from [`Tasks::reserve_task`](crate::store::Tasks::reserve_task); `None` for the next
    /// free one.
    pub id: Option<TurnId>,
    /// The task.
    pub prompt: String,
    /// A short name of the task, for people.
    pub label: Option<String>,
    /// The profile that works on the task; `None` for the parent's.
    pub agent: Option<String>,
    /// The receiver of its final text.
    pub mode: ChildMode,
}

impl NewChild {
    /// Makes a child without label and with the parent's profile. The parent waits for its end.
    #[must_use]
    pub fn awaited_child(prompt: impl Into<String>) -> Self {
        let (label, agent, mode) = (None, None, ChildMode::Awaited);
        Self { id: None, prompt: prompt.into(), label, agent, mode }
    }
}

/// The receiver of a child's final text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChildMode {
    /// The call of the parent, which waits for it.
    #[default]
    Awaited,
    /// The chat of the root turn. The parent goes on at once.
    Background,
}

impl ChildMode {
    /// Returns `true` for [`Self::Awaited`].
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        *self == Self::Awaited
    }
}

/// The reason why a turn waits, and the time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRequest {
    /// The kind of event that ends the wait.
    pub kind: WaitKind,
    /// The question for the chat; `None` if no person has to act. For an approval or a choice it
    /// has [`crate::chat::WAIT`] in place of the wait's id.
    pub prompt: Option<Box<Content>>,
    /// The time limit. After it the wait counts as denied, unanswered or skipped.
    pub expires_after: Duration,
    /// Writes that are committed together with the wait. Their children are `Awaited`.
    pub writes: Vec<LogWrite>,
    /// For an approval: the grant that an approval for the session adds.
    pub grant: Option<Grant>,
    /// For an approval: a digest of the question as shown. The call runs only if its question is
    /// still the same.
    pub shown: Option<String>,
    /// For an approval: a remark for the audit table, beside the arguments of the call.
    pub remark: Option<String>,
}

impl WaitRequest {
    /// Returns `true` if the approved digest `allowed` is the one of this question.
    #[must_use]
    pub fn is_allowed(&self, allowed: Option<&str>) -> bool {
        allowed.is_some() && self.shown.as_deref() == allowed
    }
}

/// The kinds of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitKind {
    /// A person allows or denies a call.
    Approval,
    /// A person answers a question; the next plain text is the answer.
    Answer,
    /// A child turn ends.
    Child,
    /// A person decides if a call with an unknown outcome runs again.
    Choice,
}

impl WaitKind {
    /// In the order of declaration.
    pub const ALL: [Self; 4] = [Self::Approval, Self::Answer, Self::Child, Self::Choice];

    /// The word in the log and in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Answer => "answer",
            Self::Child => "child",
            Self::Choice => "choice",
        }
    }
}

/// The reason why a call failed, written for the model: the problem, the value and the
/// correction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// No tool has this name.
    #[error("tool not found: {0}")]
    NotFound(String),
    /// The arguments do not fit the tool's schema.
    #[error("invalid arguments: {0}")]
    InvalidArgs(String),
    /// The tool ran and failed.
    #[error("execution failed: {0}")]
    ExecutionFailed(String),
    /// A rule, a person or the system forbids the call.
    #[error("permission denied: {0}")]
    PermissionDenied(String),
    /// A file or directory does not exist.
    #[error("file not found: {0}")]
    FileNotFound(String),
    /// The path leads out of the workspace, or is malformed.
    #[error("invalid path: {0}")]
    InvalidPath(String),
    /// The call exceeded its time limit, in seconds.
    #[error("command timed out after {0}s")]
    Timeout(u64),
    /// A program exceeded its time limit.
    #[error("command timed out after {seconds}s; the end of its output:\n{output}")]
    TimedOut {
        /// The time limit.
        seconds: u64,
        /// The end of the program's output.
        output: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_error_display_has_the_text_of_each_error() {
        let text = |error: ToolError| error.to_string();
        let x = || "x".to_owned();
        assert_eq!(text(ToolError::NotFound(x())), "tool not found: x");
        assert_eq!(text(ToolError::InvalidArgs(x())), "invalid arguments: x");
        assert_eq!(text(ToolError::ExecutionFailed(x())), "execution failed: x");
        assert_eq!(text(ToolError::PermissionDenied(x())), "permission denied: x");
        assert_eq!(text(ToolError::FileNotFound(x())), "file not found: x");
        assert_eq!(text(ToolError::InvalidPath(x())), "invalid path: x");
        assert_eq!(text(ToolError::Timeout(30)), "command timed out after 30s");
        assert_eq!(
            text(ToolError::TimedOut { seconds: 30, output: x() }),
            "command timed out after 30s; the end of its output:\nx"
        );
    }
}
