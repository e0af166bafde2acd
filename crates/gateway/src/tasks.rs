//! The methods about tasks: the child turns of conversations. If no daemon runs, the program's own
//! commands call them directly.

use avocet_methods::{CancelTask, ListTasks, NamedTask, ShowTask, SocketMethod};
use avocet_protocol::store::{TaskPage, Tasks};
use avocet_text::Redactor;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::{check_limit, unavailable};
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct TaskPorts<'a> {
    pub tasks: &'a dyn Tasks,
    pub redactor: &'a Redactor,
}

impl<'a> From<MethodCall<'a>> for TaskPorts<'a> {
    fn from(call: MethodCall<'a>) -> Self {
        Self { tasks: call.parts.tasks.as_ref(), redactor: &call.parts.redactor }
    }
}

impl RunMethod for ListTasks {
    type Ports<'a> = TaskPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { session, limit, before }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let page = TaskPage { limit, before };
        let list = ports.tasks.tasks(session.as_ref(), page).await.map_err(unavailable)?;
        Reply::without_secrets(&list, ports.redactor)
    }
}

impl RunMethod for ShowTask {
    type Ports<'a> = TaskPorts<'a>;

    async fn run(ports: Self::Ports<'_>, NamedTask { id }: NamedTask) -> Answered<Self> {
        match ports.tasks.task(id).await.map_err(unavailable)? {
            Some(task) => Reply::without_secrets(&task, ports.redactor),
            None => Err(RpcError::new(RpcError::NOT_FOUND, format!("there is no task {id}"))),
        }
    }
}

impl RunMethod for CancelTask {
    type Ports<'a> = TaskPorts<'a>;

    async fn run(ports: Self::Ports<'_>, NamedTask { id }: NamedTask) -> Answered<Self> {
        if ports.tasks.cancel_task(id).await.map_err(unavailable)?.is_some() {
            return Reply::with_whole(&());
        }
        let message = format!("there is no open task {id}; it may have ended");
        Err(RpcError::new(RpcError::NOT_FOUND, message))
    }
}
