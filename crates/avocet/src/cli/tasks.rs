//! `avocet tasks`: the tasks that agents have given to sub-agents. Uses the socket of a running
//! daemon, else the log itself.

use avocet_gateway::{
    CancelTask, ClientMethod, ListTasks, NamedTask, RunMethod, ShowTask, TaskPorts, run_method,
};
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::thousands;
use avocet_protocol::store::TaskView;
use avocet_protocol::turn::TurnState;
use avocet_session::TaskControl;
use avocet_text::{PlainTable, append_line};
use clap::Subcommand;

use crate::cli::reach::call_daemon_or_log;
use crate::cli::values::session_id;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{format_span, print_result, print_text};
use crate::redaction;

#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// List tasks, the newest first.
    List {
        /// Only tasks of this conversation.
        #[arg(value_parser = session_id)]
        session: Option<SessionId>,
        /// Maximum number of tasks to list, at most 500.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a task and its result.
    Show {
        /// Id of the task, as in the list.
        id: TurnId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Cancel a task and the tasks below it.
    Cancel {
        /// Id of the task, as in the list.
        id: TurnId,
    },
}

pub(crate) async fn run(context: &CommandContext, command: TasksCommand) -> Result<Exit, Failure> {
    let now = context.clock.now();
    match command {
        TasksCommand::List { session, limit, json } => {
            let list = ListTasks { session, limit, before: None };
            let tasks: Vec<TaskView> = call_method::<ListTasks>(context, &list).await?;
            print_result(json, &tasks, || list_text(&tasks, now))?;
        }
        TasksCommand::Show { id, json } => {
            let task: TaskView = call_method::<ShowTask>(context, &NamedTask { id }).await?;
            print_result(json, &task, || task_text(&task, now))?;
        }
        TasksCommand::Cancel { id } => {
            let () = call_method::<CancelTask>(context, &NamedTask { id }).await?;
            print_text(&format!("{id} is cancelled\n"))?;
        }
    }
    Ok(Exit::Done)
}

async fn call_method<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = TaskPorts<'a>>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let tasks = TaskControl::in_log(log.store.clone());
        let ports = TaskPorts { tasks: &tasks, redactor: &redaction::shared_redactor() };
        Ok(run_method::<M>(ports, params).await)
    })
    .await
}

fn list_text(tasks: &[TaskView], now: Timestamp) -> String {
    if tasks.is_empty() {
        return "There are no tasks.\n".to_owned();
    }
    let head = ["task", "name", "state", "age", "steps", "tokens", "cost", "conversation"];
    let rows = tasks.iter().map(|task| {
        let tokens = thousands(task.total.usage.total());
        [
            task.id.to_string(),
            task.name(),
            task_state(task),
            task_age(task, now),
            task.steps.to_string(),
            tokens,
            task.total.price(),
            task.session.to_string(),
        ]
    });
    let rows = std::iter::once(head.map(str::to_owned)).chain(rows);
    rows.collect::<PlainTable>().to_string()
}

/// Returns the time from the start of a task to its end, or to now.
fn task_age(task: &TaskView, now: Timestamp) -> String {
    format_span(task.started_at.until(task.ended_at.unwrap_or(now)).as_secs())
}

fn task_state(task: &TaskView) -> String {
    match (task.state, task.waits_for) {
        (TurnState::Waiting, Some(kind)) => format!("waiting for {}", kind.as_str()),
        (state, _) => state.as_str().to_owned(),
    }
}

fn task_text(task: &TaskView, now: Timestamp) -> String {
    let TaskView { id, parent, session, own_session, agent, steps, total, .. } = task;
    let mut text = format!("{id} {}: {}, {}\n", task.name(), task_state(task), task_age(task, now));
    let mut line = |name: &str, value: &str| {
        append_line(&mut text, format_args!("{name}: {value}"));
    };
    line("conversation", &format!("{session}, started by {parent}"));
    line("transcript", &format!("avocet sessions show {own_session}"));
    if let Some(agent) = agent {
        line("profile", agent);
    }
    line("steps", &steps.to_string());
    line("tokens", &format!("{}, {}", thousands(total.usage.total()), total.price()));
    line("task", &task.task);
    if let Some(result) = &task.result {
        line("result", result);
    }
    text
}
