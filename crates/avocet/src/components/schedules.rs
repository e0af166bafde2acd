//! The schedules of the daemon: those of the configuration, and the checklists that they read.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_bus::Bus;
use avocet_config::{ConfigDocument, ConfigSettings, DEFAULT, HeartbeatConfig, ScheduleTable};
use avocet_jobs::{
    KnownSpeakers, ReadChecklists, RunnerParts, ScheduleRunner, ScheduleService, ZoneCalendar,
    check_agent, new_schedule,
};
use avocet_outbox::ChannelRegistry;
use avocet_protocol::bus::{Destinations, PublishError};
use avocet_protocol::chat::{ChatKind, Content, Inbound};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ids::{DedupeKey, IdError, SenderId};
use avocet_protocol::schedule::{
    AddSchedule, Calendar, NewSchedule, Schedule, ScheduleOwner, ScheduledWork, TimesRequest,
};
use avocet_protocol::store::{Schedules, StoreError};
use avocet_protocol::tool::Files;
use avocet_supervise::{Group, SystemClock};

use crate::components::checklist::has_entries;
use crate::components::workspaces::AgentWorkspaces;
use crate::configuration::{Agent, Configuration};
use crate::environment::system_zone;
use crate::exit::Failure;
use crate::registry;

/// The path of the heartbeat's table, and its name among the schedules.
const HEARTBEAT: &str = Schedule::HEARTBEAT;

/// Number of next times that the program's log names.
const NEXT: usize = 3;

/// Returns the schedules of the configuration.
pub(crate) fn configured_schedules(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    agents: &[Agent],
    now: Timestamp,
) -> Result<Vec<NewSchedule>, Failure> {
    if settings.schedules.is_empty() && settings.heartbeat.every.is_none() {
        return Ok(Vec::new());
    }
    let calendar = ZoneCalendar::new(&system_zone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let channels = registry::make_channels(document, settings, &clock)?.channels;
    let channels = ChannelRegistry::new(channels.into_iter().map(|one| one.channel).collect());
    let agents: Vec<String> = agents.iter().map(|agent| agent.profile.name.clone()).collect();
    let made = |request: AddSchedule, name: &str| {
        let agent = check_agent(request.agent.as_deref(), &agents);
        agent.map_err(|error| error.to_string())?;
        let to = channels.plan(&request.chat, &Content::default());
        to.map_err(|error| format!("chat: {error}"))?;
        new_schedule(&calendar, &request, Some(name), now).map_err(|error| error.to_string())
    };
    let make = |path: &str, name: &str, request: Result<AddSchedule, String>| {
        request
            .and_then(|request| made(request, name))
            .map_err(|error| document.error_at(path, format!("`{path}`: {error}")))
    };
    let mut all = Vec::new();
    for name in settings.schedules.keys() {
        let path = format!("schedules.{name}");
        let request = match name.as_str() {
            HEARTBEAT => Err("this name is taken; the table is [heartbeat]".to_owned()),
            _ => schedule_request(document.table(&path)?),
        };
        all.push(make(&path, name, request)?);
    }
    let HeartbeatConfig { every, chat, person, file, agent } = settings.heartbeat.clone();
    if every.is_some() {
        let work = ScheduledWork::Checklist(file);
        let table = ScheduleTable { every, chat, person, agent, ..ScheduleTable::default() };
        all.push(make(HEARTBEAT, HEARTBEAT, of_table(table, work))?);
    }
    Ok(all)
}

fn schedule_request(table: ScheduleTable) -> Result<AddSchedule, String> {
    let work = match (table.text.clone(), table.task.clone()) {
        (Some(text), None) => ScheduledWork::Text(text),
        (None, Some(task)) => ScheduledWork::Task(task),
        _ => return Err("write either text or task".to_owned()),
    };
    of_table(table, work)
}

fn of_table(table: ScheduleTable, work: ScheduledWork) -> Result<AddSchedule, String> {
    let ScheduleTable { chat, person, group, every, cron, zone, agent, catch_up, quiet, .. } =
        table;
    let person = person.map(|person| SenderId::parse(&person)).transpose();
    if chat.is_empty() {
        return Err("chat is missing; write it as channel:account:chat".to_owned());
    }
    if every.is_some() == cron.is_some() {
        return Err("write either every or cron".to_owned());
    }
    Ok(AddSchedule {
        chat: chat.parse().map_err(|error: IdError| format!("chat: {error}"))?,
        person: person.map_err(|error| error.to_string())?,
        kind: if group { ChatKind::Group } else { ChatKind::Private },
        times: TimesRequest { every, cron, zone, ..TimesRequest::default() },
        work,
        agent,
        catch_up,
        quiet,
        key: None,
    })
}

/// Stores the schedules of the configuration, and starts the task that runs all schedules.
pub(crate) async fn start(
    configuration: &Configuration,
    bus: &Arc<Bus>,
    runner: RunnerParts,
    group: &Group,
) -> Result<ScheduleService, Failure> {
    let calendar = Arc::new(ZoneCalendar::new(&system_zone()));
    let speakers = Arc::new(AdmittedSpeakers(bus.clone()));
    let (log, now) = (runner.schedules.as_ref(), runner.clock.now());
    let configured = &configuration.schedules;
    store_configured(log, calendar.as_ref(), speakers.as_ref(), configured, now).await?;
    ScheduleRunner::start(runner.clone(), group);
    Ok(ScheduleService { runner, calendar, agents: configuration.agent_names(), speakers })
}

/// The people that the bus admits.
#[derive(Debug)]
pub(crate) struct AdmittedSpeakers(pub(crate) Arc<Bus>);

impl KnownSpeakers for AdmittedSpeakers {
    fn may_ask(&self, owner: &ScheduleOwner, task: &str) -> Result<(), PublishError> {
        let ScheduleOwner { address, chat, sender, roles } = owner.clone();
        // The message is not published, so any key will do.
        let key = DedupeKey::parse("schedule")?;
        let content = Content { author_roles: roles, ..Content::text(task) };
        let inbound = Inbound::new(address, sender, key, content);
        // The roles come from a message of the platform.
        self.0.admit_task(Inbound { chat, from_platform: true, ..inbound }).map(drop)
    }
}

/// Adds new schedules of the configuration to the log, and removes those whose table is gone. Logs
/// the next times of the new ones.
async fn store_configured(
    schedules: &dyn Schedules,
    calendar: &dyn Calendar,
    speakers: &dyn KnownSpeakers,
    configured: &[NewSchedule],
    now: Timestamp,
) -> Result<(), StoreError> {
    for NewSchedule { name, owner, plan, .. } in configured {
        if !matches!(plan.work, ScheduledWork::Text(_))
            && let Err(refusal) = speakers.may_ask(owner, plan.work.body())
        {
            let name = name.as_deref().unwrap_or_default();
            tracing::warn!(name, %refusal, "a schedule of the configuration cannot run its task");
        }
    }
    for id in schedules.set_configured(configured).await? {
        let Some(Schedule { name, rule, .. }) = schedules.schedule(id).await? else { continue };
        let next = calendar.next(&rule, now, NEXT).unwrap_or_default();
        let next: Vec<String> = next.iter().map(|at| calendar.words(&rule, *at)).collect();
        tracing::info!(
            %id,
            name = name.unwrap_or_default(),
            next = next.join("; "),
            "added a schedule of the configuration"
        );
    }
    Ok(())
}

/// The most bytes of a checklist that are read to find an entry.
const MAX_CHECKLIST: u64 = 64 * 1024;

/// The checklists in the workspaces of the agents.
#[derive(Debug)]
pub(crate) struct AgentChecklists {
    files: BTreeMap<String, Arc<dyn Files>>,
}

impl AgentChecklists {
    pub(crate) fn new(
        configuration: &Configuration,
        workspaces: &AgentWorkspaces,
    ) -> Result<Self, Failure> {
        let files = configuration.agents.iter().map(|agent| {
            let files: Arc<dyn Files> = workspaces.open_directory(&agent.workspace)?.files.clone();
            Ok((agent.profile.name.clone(), files))
        });
        Ok(Self { files: files.collect::<Result<_, Failure>>()? })
    }
}

#[async_trait]
impl ReadChecklists for AgentChecklists {
    async fn has_entries(&self, agent: Option<&str>, path: &str) -> bool {
        let Some(files) = self.files.get(agent.unwrap_or(DEFAULT)) else { return false };
        match files.start_of(path, MAX_CHECKLIST).await {
            Ok(Some(start)) => has_entries(&String::from_utf8_lossy(&start.bytes)),
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(path, %error, "cannot read the checklist; skipping this time");
                false
            }
        }
    }
}
