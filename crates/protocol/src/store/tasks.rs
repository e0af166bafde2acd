//! The log's tasks: the child turns that other turns have started.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Result, Total};
use crate::chat::SessionId;
use crate::clock::Timestamp;
use crate::ids::TurnId;
use crate::tool::{ChildMode, WaitKind};
use crate::turn::TurnState;

/// Reads and cancels tasks (child turns).
#[async_trait]
pub trait Tasks: fmt::Debug + Send + Sync {
    /// Reserves the number of a task that is about to begin, so that the result of its call can
    /// name it. An unused number (the process died before) leaves a gap.
    async fn reserve_task(&self) -> Result<TurnId>;

    /// Returns tasks, the newest first: those below root turns of `session`, or all of them.
    async fn tasks(&self, session: Option<&SessionId>, page: TaskPage) -> Result<Vec<TaskView>>;

    /// Returns one task; `None` if the turn does not exist or is no child.
    async fn task(&self, id: TurnId) -> Result<Option<TaskView>>;

    /// Cancels an open task and the tasks below it. A waiting parent gets an error as the result of
    /// its call. Returns `None` if the task does not exist or has ended.
    async fn cancel_task(&self, id: TurnId) -> Result<Option<CancelledTask>>;
}

/// Selects the tasks of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPage {
    /// The most tasks to return.
    pub limit: u32,
    /// Only tasks that are older than this one.
    pub before: Option<TurnId>,
}

/// The effect of cancelling a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelledTask {
    /// The ended turns. Their workers have to stop.
    pub turns: Vec<TurnId>,
    /// The session of the parent that waited for the task, if any.
    pub parent: Option<SessionId>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    /// Its turn.
    pub id: TurnId,
    /// The turn that started it.
    pub parent: TurnId,
    /// The conversation of the root turn.
    pub session: SessionId,
    /// The conversation of the task itself.
    pub own_session: SessionId,
    /// A short name for people.
    pub label: Option<String>,
    /// The text of the task.
    pub task: String,
    /// The profile that was chosen for it.
    pub agent: Option<String>,
    /// The receiver of its final text.
    pub mode: ChildMode,
    /// The state of its turn.
    pub state: TurnState,
    /// The kind of event that it waits for.
    pub waits_for: Option<WaitKind>,
    /// Its start.
    pub started_at: Timestamp,
    /// Its end; `None` while it is open.
    pub ended_at: Option<Timestamp>,
    /// Number of model calls so far.
    pub steps: u32,
    /// Tokens and cost of its own model calls, without those of the tasks below it.
    #[serde(flatten)]
    pub total: Total,
    /// The final text, or the reason why there is none; `None` while it is open.
    pub result: Option<String>,
}

impl TaskView {
    /// The label, or the beginning of the task's text.
    #[must_use]
    pub fn name(&self) -> String {
        task_name(self.label.as_deref(), &self.task)
    }
}

/// Characters of a task's text that stand for a missing label.
const SHOWN: usize = 40;

/// Returns the label of a task, or the beginning of its text in one line.
#[must_use]
pub fn task_name(label: Option<&str>, task: &str) -> String {
    let text = label.filter(|label| !label.trim().is_empty()).unwrap_or(task);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= SHOWN {
        return words;
    }
    format!("{}…", words.chars().take(SHOWN).collect::<String>().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_name_prefers_the_label_and_shortens_to_one_line() {
        let long = "Read every file\nof the tree and list the functions that nobody calls";
        for (label, task, name) in [
            (Some("survey"), long, "survey"),
            (Some(" "), "count\nthem", "count them"),
            (None, long, "Read every file of the tree and list the…"),
        ] {
            assert_eq!(task_name(label, task), name);
        }
    }
}
