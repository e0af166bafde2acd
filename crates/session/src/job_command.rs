//! The chat command `/job`.

use std::sync::Arc;

use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{Content, Inbound, LoggedInbound};
use avocet_protocol::ids::{DedupeKey, JobId};
use avocet_protocol::job::JobControl;
use avocet_protocol::store::{JobChat, JobLimits, JobRules, JobStatus, StoreError, SubmittedJob};
use avocet_protocol::turn::TurnRecord;
use avocet_text::append_line;

use crate::SessionParts;
use crate::command_plan::CommandPlan;
use crate::jobs::{JobDesk, JobPlace};
use crate::lane::Lanes;

const USE: &str = "Write /job, /job AGENT TASK, /job AGENT --workspace DIR TASK, /job show j5, \
    /job logs j5, or /job cancel j5.";

/// The most jobs that `/job` lists.
const SHOWN_JOBS: u32 = 10;
/// The most calls that `/job logs` lists.
const SHOWN_CALLS: usize = 20;
/// The most characters of the arguments of a call, and of a task.
const SHOWN_CHARS: usize = 100;

/// Plans `/job`. A submission is committed here: its key is that of the command, so that the
/// command may act again after a crash.
pub(crate) async fn plan_job(
    lanes: &Arc<Lanes>,
    command: &LoggedInbound,
    argument: &str,
) -> Result<CommandPlan, StoreError> {
    let desk = JobDesk::from_lanes(lanes);
    let (first, rest) = split_word(argument);
    let text = match (first.to_ascii_lowercase().as_str(), rest) {
        ("" | "list", "") => list_text(&desk.list_jobs(SHOWN_JOBS, None).await?),
        ("cancel", id) => match parse_job_id(id) {
            Some(id) => cancel_job(&desk, id).await?,
            None => USE.to_owned(),
        },
        ("logs", id) => match parse_job_id(id) {
            Some(id) => list_calls(&lanes.parts, &desk, id).await?,
            None => USE.to_owned(),
        },
        ("show", id) | (id, "") => match parse_job_id(id) {
            Some(id) => desk.find_job(id).await?.map_or_else(
                || format!("There is no job {id}."),
                |job| format!("{}\n\n{}", job_line(&job), job.result.unwrap_or_default()),
            ),
            None => USE.to_owned(),
        },
        (_, work) => match submit_job(&desk, &lanes.parts, command, first, work).await {
            Ok(text) => text,
            Err(PublishError::Log(error)) => return Err(error),
            Err(refusal) => format!("I cannot accept this job: {refusal}."),
        },
    };
    Ok(CommandPlan::with_text(text.trim_end()))
}

/// Cancels a job. The text is the same if the command acts again after a crash.
async fn cancel_job(desk: &JobDesk, id: JobId) -> Result<String, StoreError> {
    if desk.end_job(id).await? {
        return Ok(format!("{id} is cancelled."));
    }
    Ok(match desk.find_job(id).await? {
        Some(job) => format!("{id} is {}.", job.state.as_str()),
        None => format!("There is no job {id}."),
    })
}

fn parse_job_id(id: &str) -> Option<JobId> {
    id.to_ascii_lowercase().parse().ok()
}

fn split_word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

async fn submit_job(
    desk: &JobDesk,
    parts: &SessionParts,
    command: &LoggedInbound,
    agent: &str,
    work: &str,
) -> Result<String, PublishError> {
    let (directory, task) = match with_workspace(work) {
        Some((directory, task)) => (Some(directory), task),
        None => (None, work),
    };
    if task.is_empty() {
        return Ok(USE.to_owned());
    }
    let agents = parts.agents.now();
    let workspace = directory.map(|directory| agents.directories.named(directory));
    let workspace = workspace.transpose().map_err(|error| PublishError::Job(error.to_string()))?;
    let key = DedupeKey::parse(&format!("job {}", command.id))?;
    let asked = &command.message.inbound;
    let author_roles = asked.content.author_roles.clone();
    let content = Content { author_roles, ..Content::text(task) };
    // The roles come from a message of the platform.
    let inbound = Inbound { key, content, from_platform: true, ..asked.clone() };
    let rules = JobRules { agent: agent.to_owned(), workspace, limits: JobLimits::default() };
    desk.check_agent(&rules)?;
    let SubmittedJob { id, .. } =
        desk.commit_job(inbound, JobPlace { chat: JobChat::Asking, rules }).await?;
    Ok(format!("{id} is in the log: {agent} works on it and reports here. /job {id} shows it."))
}

/// Splits `--workspace DIR TASK` into directory and task; `None` for other texts. A directory with
/// spaces stands in quotes.
fn with_workspace(work: &str) -> Option<(&str, &str)> {
    let rest = work.strip_prefix("--workspace")?;
    let rest = rest.strip_prefix('=').or_else(|| rest.strip_prefix(char::is_whitespace))?.trim();
    match rest.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
        Some((directory, task)) => Some((directory, task.trim())),
        None => Some(split_word(rest)),
    }
}

fn list_text(jobs: &[JobStatus]) -> String {
    if jobs.is_empty() {
        return "There are no jobs.".to_owned();
    }
    jobs.iter().map(job_line).collect::<Vec<_>>().join("\n")
}

fn job_line(job: &JobStatus) -> String {
    let JobStatus { id, state, rules, task, usage, inference_runs, .. } = job;
    let task: String = task.chars().take(SHOWN_CHARS).collect();
    let runs = if *inference_runs == 1 { "request" } else { "requests" };
    let (state, agent, price) = (state.as_str(), &rules.agent, usage.price());
    format!("{id} {state}, {agent}, {inference_runs} {runs}, {price}: {task}")
}

/// Lists the last calls of a job.
async fn list_calls(parts: &SessionParts, desk: &JobDesk, id: JobId) -> Result<String, StoreError> {
    let Some(job) = desk.find_job(id).await? else { return Ok(format!("There is no job {id}.")) };
    let turns = parts.query.transcript(&job.session, 1).await?;
    let calls = turns.last().map(calls_text).unwrap_or_default();
    let calls = if calls.is_empty() { "It has made no calls yet.".to_owned() } else { calls };
    Ok(format!("{}\n\n{calls}", job_line(&job)))
}

fn calls_text(turn: &TurnRecord) -> String {
    let calls: Vec<_> = turn.steps.iter().flat_map(|step| &step.calls).collect();
    let hidden = calls.len().saturating_sub(SHOWN_CALLS);
    let mut text = String::new();
    if hidden > 0 {
        append_line(&mut text, format_args!("{hidden} calls before these"));
    }
    for call in &calls[hidden..] {
        let arguments = serde_json::Value::Object(call.call.arguments.to_object());
        let arguments: String = arguments.to_string().chars().take(SHOWN_CHARS).collect();
        let mark = match call.result() {
            None => "…",
            Some(result) if result.ok => "✓",
            Some(_) => "✗",
        };
        append_line(&mut text, format_args!("{mark} {} {arguments}", call.call.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_workspace_splits_the_directory_from_the_task() {
        for (work, expected) in [
            ("--workspace ~/src add tests", Some(("~/src", "add tests"))),
            ("--workspace=/a  add tests", Some(("/a", "add tests"))),
            ("--workspace \"/my src\" add tests", Some(("/my src", "add tests"))),
            ("--workspace /a", Some(("/a", ""))),
            ("--workspaces are nice", None),
            ("add --workspace", None),
        ] {
            assert_eq!(with_workspace(work), expected, "{work}");
        }
    }
}
