//! Schedules as the operator sees and changes them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{Content, Sender};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{ScheduleId, SenderId};
use avocet_protocol::schedule::{
    AddSchedule, Calendar, NewSchedule, Schedule, ScheduleChange, ScheduleCommand, ScheduleControl,
    ScheduleError, ScheduleOwner, SchedulePlan, ScheduleRun, ScheduleState, ScheduledWork,
    ShownSchedule,
};
use avocet_protocol::store::EndedSchedules;
use avocet_text::nearest;

use crate::runner::{RunnerParts, run_now};

/// Number of next times that a list names.
const NEXT: usize = 3;
/// Number of runs that are shown.
const RUNS: u32 = 20;

/// Knows the people for whom the agent works.
pub trait KnownSpeakers: fmt::Debug + Send + Sync {
    /// Checks that the agent may do a task for this person in this chat.
    ///
    /// # Errors
    /// [`PublishError`] names the reason and its correction.
    fn may_ask(&self, owner: &ScheduleOwner, task: &str) -> Result<(), PublishError>;
}

/// The commands of the operator.
#[derive(Debug)]
pub struct ScheduleService {
    /// The parts that a run by hand needs.
    pub runner: RunnerParts,
    /// The calendar of the default zone.
    pub calendar: Arc<dyn Calendar>,
    /// The names of all agents.
    pub agents: Vec<String>,
    /// The check of the person of a new task.
    pub speakers: Arc<dyn KnownSpeakers>,
}

#[async_trait]
impl ScheduleControl for ScheduleService {
    async fn add(&self, request: &AddSchedule) -> Result<ShownSchedule, ScheduleError> {
        let now = self.runner.clock.now();
        let new = new_schedule(self.calendar.as_ref(), request, None, now)?;
        check_agent(request.agent.as_deref(), &self.agents)?;
        let to = self.runner.destinations.plan(&request.chat, &Content::default());
        to.map_err(|error| ScheduleError::Refused(error.to_string()))?;
        if let ScheduledWork::Task(task) = &request.work {
            let may_ask = self.speakers.may_ask(&new.owner, task);
            may_ask.map_err(|error| ScheduleError::Refused(error.to_string()))?;
        }
        let id = self.runner.schedules.add_schedule(&new, request.key.as_ref()).await?;
        self.show(id).await
    }

    async fn list(&self, ended: bool) -> Result<Vec<ShownSchedule>, ScheduleError> {
        let ended = if ended { EndedSchedules::Include } else { EndedSchedules::Exclude };
        let all = self.runner.schedules.schedules(None, ended).await?;
        Ok(all.into_iter().map(|schedule| self.show_schedule(schedule, Vec::new())).collect())
    }

    async fn show(&self, id: ScheduleId) -> Result<ShownSchedule, ScheduleError> {
        let schedule = self.find_schedule(id).await?;
        let runs = self.runner.schedules.schedule_runs(id, RUNS).await?;
        Ok(self.show_schedule(schedule, runs))
    }

    async fn command(&self, id: ScheduleId, command: ScheduleCommand) -> Result<(), ScheduleError> {
        let schedule = self.find_schedule(id).await?;
        let change = match command {
            ScheduleCommand::Run => return Ok(run_now(&self.runner, id).await.map(drop)?),
            ScheduleCommand::Pause => ScheduleChange::Pause(None),
            ScheduleCommand::Remove => match schedule.table() {
                Some(table) => {
                    let why = format!("{id} is {table}; remove it from the configuration");
                    return Err(ScheduleError::Refused(why));
                }
                None => ScheduleChange::Remove,
            },
            ScheduleCommand::Resume => {
                let now = self.runner.clock.now();
                let next = self.calendar.next(&schedule.rule, now, 1).unwrap_or_default();
                let ended = || ScheduleError::Refused(format!("all times of {id} have passed"));
                ScheduleChange::Resume(*next.first().ok_or_else(ended)?)
            }
        };
        if self.runner.schedules.change_schedule(id, &change).await? {
            return Ok(());
        }
        Err(ScheduleError::Refused(format!("{id} is {}", schedule.state.as_str())))
    }
}

impl ScheduleService {
    async fn find_schedule(&self, id: ScheduleId) -> Result<Schedule, ScheduleError> {
        let found = self.runner.schedules.schedule(id).await?;
        found.ok_or_else(|| {
            ScheduleError::Refused(format!("there is no schedule {id}; see `avocet schedule list`"))
        })
    }

    fn show_schedule(&self, schedule: Schedule, runs: Vec<ScheduleRun>) -> ShownSchedule {
        let times = self.calendar.describe(&schedule.rule);
        let now = self.runner.clock.now();
        let next = match schedule.state {
            ScheduleState::Active => {
                self.calendar.next(&schedule.rule, now, NEXT).unwrap_or_default()
            }
            ScheduleState::Paused | ScheduleState::Ended => Vec::new(),
        };
        let next = next.iter().map(|at| self.calendar.words(&schedule.rule, *at)).collect();
        ShownSchedule { schedule, times, next, runs }
    }
}

/// Checks the name of the agent that does a task.
///
/// # Errors
/// [`ScheduleError::Refused`] names the most similar agent.
pub fn check_agent(agent: Option<&str>, agents: &[String]) -> Result<(), ScheduleError> {
    let Some(agent) = agent.filter(|agent| !agents.iter().any(|known| known == agent)) else {
        return Ok(());
    };
    let hint = match nearest(agent, agents.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("write a table [agents.{agent}]"),
    };
    Err(ScheduleError::Refused(format!("there is no agent {agent:?}; {hint}")))
}

/// Makes a schedule of the operator. Its text has the trust of the configuration.
///
/// # Errors
/// [`ScheduleError::Refused`] names the wrong value.
pub fn new_schedule(
    calendar: &dyn Calendar,
    request: &AddSchedule,
    name: Option<&str>,
    now: Timestamp,
) -> Result<NewSchedule, ScheduleError> {
    let AddSchedule { chat, person, kind, times, work, agent, catch_up, quiet, .. } = request;
    let refused = ScheduleError::Refused;
    if work.body().trim().is_empty() {
        return Err(refused(format!("the {} is empty", work.kind())));
    }
    if matches!(work, ScheduledWork::Text(_)) && agent.is_some() {
        return Err(refused("a text needs no agent".to_owned()));
    }
    let person = match person {
        Some(person) => person.clone(),
        None => SenderId::parse(chat.chat.as_str()).map_err(|error| refused(error.to_string()))?,
    };
    let rule = calendar.read(times, now).map_err(refused)?;
    let next = calendar.next(&rule, now, 1).map_err(refused)?;
    let next_at = *next.first().ok_or_else(|| refused("this time never comes".to_owned()))?;
    Ok(NewSchedule {
        name: name.map(str::to_owned),
        owner: ScheduleOwner {
            address: chat.clone(),
            chat: *kind,
            sender: Sender::new(person),
            roles: Vec::new(),
        },
        plan: SchedulePlan {
            rule,
            work: work.clone(),
            agent: agent.clone(),
            catch_up: *catch_up,
            quiet: *quiet,
            next_at,
        },
        trust: Trust::Full,
    })
}
