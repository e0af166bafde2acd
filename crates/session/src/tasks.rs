//! `/tasks` and the port behind `avocet tasks`: the child turns of a conversation.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::{CancelledTask, CommandAction, StoreError, TaskPage, TaskView, Tasks};
use avocet_protocol::turn::{TurnEvent, TurnEvents, TurnState};
use avocet_text::append_text;

use crate::SessionParts;
use crate::command_plan::CommandPlan;
use crate::lane::Lanes;
use crate::usage::describe_total;

/// The most tasks in a reply.
const SHOWN: u32 = 10;
/// Characters of a text in the details of a task.
const LONGEST: usize = 1500;

const HOW: &str = "Write /tasks, /tasks t12, or /tasks cancel t12.";
const NOT_HERE: &str = "There is no such open task in this conversation.";

/// Plans `/tasks`.
pub(crate) async fn plan_tasks(
    parts: &SessionParts,
    session: &SessionId,
    argument: &str,
) -> Result<CommandPlan, StoreError> {
    let words: Vec<String> = argument.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let now = parts.clock.now();
    let tasks = &parts.tasks;
    Ok(match words[..] {
        [] => {
            let page = TaskPage { limit: SHOWN, before: None };
            let list = parts.with_retry(|| tasks.tasks(Some(session), page)).await?;
            CommandPlan::with_text(list_tasks(&list, now))
        }
        ["cancel", id] => match id.parse::<TurnId>() {
            Ok(id) => {
                let done = format!("Task {id} is cancelled.");
                CommandPlan::with_action(CommandAction::CancelTask(id), &done, NOT_HERE)
            }
            Err(_) => CommandPlan::with_text(HOW),
        },
        [id] => match id.parse::<TurnId>() {
            Ok(id) => {
                let task = parts.with_retry(|| tasks.task(id)).await?;
                let task = task.filter(|task| task.session == *session);
                CommandPlan::with_text(
                    task.map_or_else(|| NOT_HERE.to_owned(), |task| describe_task(&task, now)),
                )
            }
            Err(_) => CommandPlan::with_text(HOW),
        },
        _ => CommandPlan::with_text(HOW),
    })
}

fn list_tasks(tasks: &[TaskView], now: Timestamp) -> String {
    if tasks.is_empty() {
        return "There are no tasks in this conversation.".to_owned();
    }
    let lines: Vec<String> =
        tasks.iter().map(|task| format!("- {}", task_line(task, now))).collect();
    lines.join("\n")
}

fn task_line(task: &TaskView, now: Timestamp) -> String {
    let TaskView { id, steps, total, .. } = task;
    let (name, state, seconds) = (task.name(), task_state(task), task_age(task, now));
    format!("{id} {name}: {state}, {seconds} s, steps {steps}, {}", describe_total(total))
}

/// Returns the seconds from the start of a task to its end, or to now.
fn task_age(task: &TaskView, now: Timestamp) -> u64 {
    task.started_at.until(task.ended_at.unwrap_or(now)).as_secs()
}

fn task_state(task: &TaskView) -> String {
    match (task.state, task.waits_for) {
        (TurnState::Waiting, Some(kind)) => format!("waiting for {}", kind.as_str()),
        (state, _) => state.as_str().to_owned(),
    }
}

fn describe_task(task: &TaskView, now: Timestamp) -> String {
    let mut text = task_line(task, now);
    if let Some(agent) = &task.agent {
        append_text(&mut text, format_args!("\nProfile: {agent}"));
    }
    append_text(&mut text, format_args!("\nTask: {}", cut_beginning(&task.task)));
    if let Some(result) = &task.result {
        append_text(&mut text, format_args!("\nResult: {}", cut_beginning(result)));
    }
    text
}

fn cut_beginning(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Stops the workers of a cancelled task and lets a waiting parent continue.
pub(crate) fn end_task(lanes: &Arc<Lanes>, cancelled: &CancelledTask) {
    lanes.parts.running.signal_ends(&cancelled.turns);
    if let Some(parent) = &cancelled.parent {
        lanes.parts.events.emit(parent, TurnEvent::Resumed);
        lanes.wake(parent.clone());
    }
}

/// The tasks of a daemon, or of the log of a stopped one.
#[derive(Debug)]
pub struct TaskControl {
    tasks: Arc<dyn Tasks>,
    lanes: Option<Arc<Lanes>>,
}

impl TaskControl {
    /// Acts on the log without a daemon; a parent continues at the next start.
    #[must_use]
    pub fn in_log(tasks: Arc<dyn Tasks>) -> Self {
        Self { tasks, lanes: None }
    }

    pub(crate) fn from_lanes(lanes: &Arc<Lanes>) -> Self {
        Self { tasks: lanes.parts.tasks.clone(), lanes: Some(lanes.clone()) }
    }
}

#[async_trait]
impl Tasks for TaskControl {
    async fn reserve_task(&self) -> Result<TurnId, StoreError> {
        self.tasks.reserve_task().await
    }

    async fn tasks(
        &self,
        session: Option<&SessionId>,
        page: TaskPage,
    ) -> Result<Vec<TaskView>, StoreError> {
        self.tasks.tasks(session, page).await
    }

    async fn task(&self, id: TurnId) -> Result<Option<TaskView>, StoreError> {
        self.tasks.task(id).await
    }

    async fn cancel_task(&self, id: TurnId) -> Result<Option<CancelledTask>, StoreError> {
        let cancelled = self.tasks.cancel_task(id).await?;
        if let (Some(cancelled), Some(lanes)) = (&cancelled, &self.lanes) {
            end_task(lanes, cancelled);
        }
        Ok(cancelled)
    }
}
