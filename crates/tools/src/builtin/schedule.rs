//! `schedule`: reminders and tasks for later.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ids::ScheduleId;
use avocet_protocol::schedule::{
    Calendar, CatchUp, Schedule, ScheduleChange, SchedulePlan, ScheduleRule, ScheduleState,
    ScheduleWrite, ScheduledWork, TimesRequest,
};
use avocet_protocol::store::{EndedSchedules, Schedules, StoreError};
use avocet_protocol::tool::{
    Caution, Description, Leaving, LogWrite, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;

/// The most schedules of a chat.
const MOST: usize = 100;
/// The longest text or task, in bytes.
const MAX_BYTES: usize = 4 * 1024;
/// Number of times that an answer names.
const NAMED: usize = 3;

#[derive(Debug)]
pub(super) struct ScheduleTool {
    schedules: Arc<dyn Schedules>,
    calendar: Arc<dyn Calendar>,
    clock: Arc<dyn Clock>,
}

impl ScheduleTool {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        let BuiltinParts { schedules, calendar, clock, .. } = parts;
        let (schedules, calendar) = (schedules.clone(), calendar.clone());
        Self { schedules, calendar, clock: clock.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ScheduleAction {
    Add,
    List,
    Remove,
    Pause,
    Resume,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ScheduleToolArguments {
    action: ScheduleAction,
    /// A reminder, sent as it is.
    text: Option<String>,
    /// A task that you do then.
    task: Option<String>,
    /// Duration from now: 2m, 1h 30m.
    r#in: Option<String>,
    /// 2026-11-24 08:00, or 08:00.
    at: Option<String>,
    /// Interval: 30m, 1 day.
    every: Option<String>,
    /// Five fields: 0 8 * * mon-fri.
    cron: Option<String>,
    /// Time zone like Europe/Berlin.
    zone: Option<String>,
    /// For remove, pause, resume: s3.
    id: Option<String>,
}

#[async_trait]
impl Tool for ScheduleTool {
    type Arguments = ScheduleToolArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Remind this chat, or do a task, later or regularly. add needs text \
            or task, and one of in, at, every, cron. Tell the user the next times of the result.";
        Description::new("schedule", ToolClass::InLog, TEXT).for_everyone()
    }

    async fn caution(&self, arguments: &ScheduleToolArguments, _context: &ToolContext) -> Caution {
        match arguments.action {
            ScheduleAction::List => Caution::Never,
            ScheduleAction::Add
            | ScheduleAction::Remove
            | ScheduleAction::Pause
            | ScheduleAction::Resume => Caution::ByTrust,
        }
    }

    fn leaving(&self, arguments: &ScheduleToolArguments) -> Vec<Leaving> {
        let texts = [&arguments.text, &arguments.task].into_iter().flatten();
        texts.cloned().map(Leaving::Text).collect()
    }

    async fn execute(
        &self,
        arguments: ScheduleToolArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let chat = own_chat(context)?;
        match arguments.action {
            ScheduleAction::Add => self.add_schedule(arguments, chat).await,
            ScheduleAction::List => self.list_schedules(chat).await,
            ScheduleAction::Remove => {
                self.change_schedule(&arguments, chat, "removed", |_| Ok(ScheduleChange::Remove))
                    .await
            }
            ScheduleAction::Pause => {
                self.change_schedule(&arguments, chat, "paused", |_| {
                    Ok(ScheduleChange::Pause(None))
                })
                .await
            }
            ScheduleAction::Resume => {
                let resume = |one: &Schedule| {
                    self.next(&one.rule, 1)?
                        .first()
                        .copied()
                        .map(ScheduleChange::Resume)
                        .ok_or_else(|| failed_schedule("all its times have passed"))
                };
                self.change_schedule(&arguments, chat, "resumed", resume).await
            }
        }
    }
}

impl ScheduleTool {
    async fn add_schedule(
        &self,
        arguments: ScheduleToolArguments,
        chat: &ChatAddress,
    ) -> Result<ToolOutcome, ToolError> {
        let ScheduleToolArguments { text, task, r#in, at, every, cron, zone, .. } = arguments;
        let work = scheduled_work(text, task)?;
        if self.schedules_of_chat(chat).await?.len() >= MOST {
            return Err(failed_schedule(&format!(
                "this chat has {MOST} schedules already; remove one first"
            )));
        }
        let times = TimesRequest { after: r#in, at, every, cron, zone };
        let rule = self.calendar.read(&times, self.clock.now()).map_err(ToolError::InvalidArgs)?;
        let next = self.next(&rule, NAMED)?;
        let Some(next_at) = next.first().copied() else {
            return Err(ToolError::InvalidArgs("this time never comes".to_owned()));
        };
        let id = self.schedules.reserve_schedule().await.map_err(|error| of_log(&error))?;
        let words: Vec<String> = next.iter().map(|at| self.calendar.words(&rule, *at)).collect();
        let value = json!(format!("Added {id}. Next: {}.", words.join("; ")));
        let plan = SchedulePlan {
            rule,
            work,
            agent: None,
            catch_up: CatchUp::default(),
            quiet: true,
            next_at,
        };
        let add = ScheduleWrite::Add { id, plan: Box::new(plan) };
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![LogWrite::Schedule(add)])))
    }

    async fn list_schedules(&self, chat: &ChatAddress) -> Result<ToolOutcome, ToolError> {
        let all = self.schedules_of_chat(chat).await?;
        let trust = all.iter().map(|one| one.trust).min();
        let rows: Vec<_> = all.iter().map(|one| self.schedule_row(one)).collect();
        let output = ToolOutput::with_writes(json!(rows), Vec::new());
        Ok(ToolOutcome::Finished(ToolOutput { trust, ..output }))
    }

    fn schedule_row(&self, one: &Schedule) -> serde_json::Value {
        let next = match (one.state, one.next_at) {
            (ScheduleState::Active, Some(next)) => self.calendar.words(&one.rule, next),
            (state, _) => state.as_str().to_owned(),
        };
        json!({
            "id": one.id,
            one.work.kind(): one.work.body(),
            "times": self.calendar.describe(&one.rule),
            "next": next,
        })
    }

    async fn change_schedule(
        &self,
        arguments: &ScheduleToolArguments,
        chat: &ChatAddress,
        done: &str,
        change: impl FnOnce(&Schedule) -> Result<ScheduleChange, ToolError> + Send,
    ) -> Result<ToolOutcome, ToolError> {
        let id = arguments.id.as_deref().unwrap_or_default();
        let id: ScheduleId = id.parse().map_err(|_| {
            ToolError::InvalidArgs(format!("{id:?} is no schedule; use list to find its id"))
        })?;
        let all = self.schedules_of_chat(chat).await?;
        let Some(one) = all.iter().find(|one| one.id == id) else {
            return Err(failed_schedule(&format!(
                "this chat has no schedule {id}; use list to find its id"
            )));
        };
        if let Some(table) = one.table() {
            return Err(ToolError::PermissionDenied(format!(
                "{id} is {table} of the configuration; only the operator changes it"
            )));
        }
        let write = ScheduleWrite::Change { id, change: change(one)? };
        let value = json!(format!("{done} {id}"));
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![LogWrite::Schedule(write)])))
    }

    async fn schedules_of_chat(&self, chat: &ChatAddress) -> Result<Vec<Schedule>, ToolError> {
        let all = self.schedules.schedules(Some(chat), EndedSchedules::Exclude).await;
        all.map_err(|error| of_log(&error))
    }

    fn next(&self, rule: &ScheduleRule, count: usize) -> Result<Vec<Timestamp>, ToolError> {
        self.calendar.next(rule, self.clock.now(), count).map_err(ToolError::InvalidArgs)
    }
}

/// Returns the chat of the call. A scheduled run cannot make schedules.
fn own_chat(context: &ToolContext) -> Result<&ChatAddress, ToolError> {
    let session = &context.session;
    let is_job = session.schedule().is_some() || session.is_named_as_job();
    match &context.chat {
        Some(chat) if !is_job => Ok(chat),
        _ => Err(ToolError::PermissionDenied(
            "a job cannot create jobs: only a conversation with a person has schedules".to_owned(),
        )),
    }
}

fn scheduled_work(text: Option<String>, task: Option<String>) -> Result<ScheduledWork, ToolError> {
    let work = match (text, task) {
        (Some(text), None) => ScheduledWork::Text(text.trim().to_owned()),
        (None, Some(task)) => ScheduledWork::Task(task.trim().to_owned()),
        _ => return Err(ToolError::InvalidArgs("give either text or task".to_owned())),
    };
    match work.body().len() {
        0 => Err(ToolError::InvalidArgs(format!("{} is empty", work.kind()))),
        1..=MAX_BYTES => Ok(work),
        bytes => Err(ToolError::InvalidArgs(format!(
            "{} is {bytes} bytes long; at most {MAX_BYTES} are possible. Write a file and name it",
            work.kind()
        ))),
    }
}

fn failed_schedule(text: &str) -> ToolError {
    ToolError::ExecutionFailed(text.to_owned())
}

fn of_log(error: &StoreError) -> ToolError {
    ToolError::ExecutionFailed(error.to_string())
}
