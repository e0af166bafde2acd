//! The methods about tasks: the child turns of conversations.

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::TaskView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ListParams, NamesTarget, listed_rows, named_target};

/// `task.list`: a list of `TaskView`, the newest first, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListTasks {
    /// Only tasks of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
    /// The oldest task that the client has. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnId>,
}

impl Default for ListTasks {
    fn default() -> Self {
        Self { session: None, limit: 50, before: None }
    }
}

/// `task.show`: one `TaskView`. `task.cancel`: cancels a task; the result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedTask {
    /// The id of the task.
    pub id: TurnId,
}

/// `task.show`: one task, without secrets.
#[derive(Debug)]
pub enum ShowTask {}

/// `task.cancel`: cancels a task.
#[derive(Debug)]
pub enum CancelTask {}

impl NamesTarget for NamedTask {
    fn call_target(&self) -> CallTarget {
        CallTarget::Task(self.id)
    }
}

impl ListParams for ListTasks {
    type Row = TaskView;

    fn page_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn continue_behind(&mut self, row: TaskView) {
        self.before = Some(row.id);
    }
}

method!(CancelTask = "task.cancel": NamedTask => (), Sender, named_target::<Self>(), outside_libraries);
method!(ListTasks = "task.list": Self => Vec<TaskView>, Observer, listed_rows::<Self>(), optional_params, outside_libraries);
method!(ShowTask = "task.show": NamedTask => TaskView, Observer, named_target::<Self>(), outside_libraries);
