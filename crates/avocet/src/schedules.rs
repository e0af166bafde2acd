//! The schedules of the daemon: those of the configuration, and the checklists that they read.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_config::{DEFAULT, Document, Heartbeat, ScheduleTable, Settings};
use avocet_jobs::{Checklists, ZoneCalendar, new_schedule};
use avocet_protocol::{
    AddSchedule, ChatKind, Files, IdError, NewSchedule, ScheduledWork, SenderId, TimesRequest,
    Timestamp,
};
use jiff::tz::TimeZone;

use crate::exit::Failure;
use crate::places::{Agent, Configuration};
use crate::workspaces::AgentWorkspaces;

/// The name of the heartbeat among the schedules of the configuration.
const HEARTBEAT: &str = "heartbeat";

/// Returns the schedules of the configuration.
pub(crate) fn configured(
    document: &Document,
    settings: &Settings,
    agents: &[Agent],
    now: Timestamp,
) -> Result<Vec<NewSchedule>, Failure> {
    let calendar = ZoneCalendar::new(&TimeZone::system());
    let make = |path: &str, name: &str, request: Result<AddSchedule, String>| {
        let request = request.and_then(|request| check_agent(request, agents));
        let made = request.and_then(|request| {
            new_schedule(&calendar, &request, Some(name), now).map_err(|error| error.to_string())
        });
        made.map_err(|error| document.error_at(path, format!("`{path}`: {error}")))
    };
    let mut all = Vec::new();
    for name in settings.schedules.keys() {
        let path = format!("schedules.{name}");
        let request = match name.as_str() {
            HEARTBEAT => Err("this name is taken; the table is [heartbeat]".to_owned()),
            _ => request(document.table(&path)?),
        };
        all.push(make(&path, name, request)?);
    }
    let Heartbeat { every, chat, person, file, agent } = settings.heartbeat.clone();
    if every.is_some() {
        let work = ScheduledWork::Checklist(file);
        let table = ScheduleTable { every, chat, person, agent, ..ScheduleTable::default() };
        all.push(make(HEARTBEAT, HEARTBEAT, of_table(table, work))?);
    }
    Ok(all)
}

fn request(table: ScheduleTable) -> Result<AddSchedule, String> {
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
    })
}

fn check_agent(request: AddSchedule, agents: &[Agent]) -> Result<AddSchedule, String> {
    match &request.agent {
        Some(name) if !agents.iter().any(|agent| agent.profile.is_named(name)) => {
            Err(format!("there is no agent {name}; write a table [agents.{name}]"))
        }
        _ => Ok(request),
    }
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
            let files: Arc<dyn Files> = workspaces.at(&agent.workspace)?.files.clone();
            Ok((agent.profile.name.clone(), files))
        });
        Ok(Self { files: files.collect::<Result<_, Failure>>()? })
    }
}

#[async_trait]
impl Checklists for AgentChecklists {
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

/// Returns `true` if a line is more than a heading, a comment or an empty list entry.
fn has_entries(text: &str) -> bool {
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown.lines().any(|line| {
        let line = line.trim();
        let entry = line.trim_start_matches(['-', '*', '+', '[', ']', ' ']);
        !line.starts_with('#') && !entry.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_entries_ignores_headings_comments_and_empty_list_entries() {
        let empty =
            ["", "\n \n", "# Heartbeat\n## Daily\n", "<!-- look\nat it -->\n# H", "- [ ]\n- \n*"];
        for text in empty {
            assert!(!has_entries(text), "{text:?}");
        }
        for text in ["- water the plants", "# H\nlook at the mail", "<!-- a --> b", "1. x"] {
            assert!(has_entries(text), "{text:?}");
        }
    }
}
