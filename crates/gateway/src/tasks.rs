//! The methods about tasks: the child turns of conversations. If no daemon runs, the program's own
//! commands call them directly.

use avocet_protocol::{Redactor, SessionId, TaskPage, Tasks, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{check_limit, or_empty, presentable, read, unavailable};
use crate::wire::RpcError;

/// `task.list`: a list of `TaskView`, the newest first, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListTasks {
    /// Only tasks of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The most rows, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTask {
    /// The id of the task.
    pub id: TurnId,
}

/// The names of these methods.
pub(crate) const METHODS: [&str; 3] = ["task.cancel", "task.list", "task.show"];

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_tasks(
    tasks: &dyn Tasks,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(tasks, redactor, method, params).await)
}

async fn answer(
    tasks: &dyn Tasks,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    match method {
        "task.list" => {
            let ListTasks { session, limit, before } = read(method, or_empty(params))?;
            check_limit(method, "limit", limit)?;
            let page = TaskPage { limit, before };
            let list = tasks.tasks(session.as_ref(), page).await.map_err(unavailable)?;
            Ok(presentable(json!(list), redactor))
        }
        "task.show" => {
            let NamedTask { id } = read(method, params)?;
            match tasks.task(id).await.map_err(unavailable)? {
                Some(task) => Ok(presentable(json!(task), redactor)),
                None => Err(RpcError::new(RpcError::NOT_FOUND, format!("there is no task {id}"))),
            }
        }
        _ => {
            let NamedTask { id } = read(method, params)?;
            match tasks.cancel_task(id).await.map_err(unavailable)? {
                Some(_) => Ok(Value::Null),
                None => {
                    let message = format!("there is no open task {id}; it may have ended");
                    Err(RpcError::new(RpcError::NOT_FOUND, message))
                }
            }
        }
    }
}
