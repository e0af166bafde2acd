//! Jobs from the command line, the socket and chats.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_agent::{AgentLimits, AgentLoop, Budgets, TurnEnd, TurnLimits};
use avocet_bus::Bus;
use avocet_protocol::{
    Answer, Content, DedupeKey, Inbound, InboundKind, JobChat, JobControl, JobId, JobLimits,
    JobRequest, JobRules, JobStatus, Jobs, LineageTurn, LoggedInbound, NewInbound, NewJob, Outcome,
    PublishError, SessionId, StoreError, SubmittedJob, Timestamp, TurnEvent, TurnEvents,
    TurnRecord,
};

use crate::NoDirectory;
use crate::agents::{Agent, Agents};
use crate::commands::CommandPlan;
use crate::job_summary::summary;
use crate::lane::Lanes;

/// Submits and cancels jobs.
#[derive(Debug)]
pub struct JobDesk {
    jobs: Arc<dyn Jobs>,
    bus: Arc<Bus>,
    lanes: Option<Arc<Lanes>>,
}

impl JobDesk {
    /// Changes jobs in the log without a daemon; the next start runs them.
    #[must_use]
    pub fn in_log(jobs: Arc<dyn Jobs>, bus: Arc<Bus>) -> Self {
        Self { jobs, bus, lanes: None }
    }

    pub(crate) fn of(lanes: &Arc<Lanes>) -> Self {
        let (jobs, bus) = (lanes.parts.jobs.clone(), lanes.parts.bus.clone());
        Self { jobs, bus, lanes: Some(lanes.clone()) }
    }

    /// Commits an admitted job and wakes its lane.
    async fn commit(&self, inbound: Inbound, job: JobPlace) -> Result<SubmittedJob, PublishError> {
        let message = self.bus.admit_task(inbound)?.into_inner();
        // A task is text even if it begins like a command.
        let message = NewInbound { kind: InboundKind::Text, ..message };
        let JobPlace { chat, rules } = job;
        let submitted = self.jobs.submit(&NewJob { message, chat, rules }).await?;
        tracing::debug!(job = %submitted.id, session = %submitted.session, "job submitted");
        if let Some(lanes) = &self.lanes {
            lanes.wake(submitted.session.clone());
        }
        Ok(submitted)
    }
}

/// The destination of a job and its rules.
struct JobPlace {
    chat: JobChat,
    rules: JobRules,
}

#[async_trait]
impl JobControl for JobDesk {
    async fn submit_job(&self, request: JobRequest) -> Result<SubmittedJob, PublishError> {
        let JobRequest { sender, key, task, rules } = request;
        // The store replaces this chat by the job's own.
        let chat = SessionId::of_terminal_job(JobId(0)).address();
        let inbound = Inbound::new(chat, sender, key, Content::text(task));
        self.commit(inbound, JobPlace { chat: JobChat::Own, rules }).await
    }

    async fn list_jobs(
        &self,
        limit: u32,
        before: Option<JobId>,
    ) -> Result<Vec<JobStatus>, StoreError> {
        self.jobs.jobs(limit, before).await
    }

    async fn find_job(&self, id: JobId) -> Result<Option<JobStatus>, StoreError> {
        self.jobs.job(id).await
    }

    async fn end_job(&self, id: JobId) -> Result<bool, StoreError> {
        let Some(turns) = self.jobs.cancel_job(id).await? else { return Ok(false) };
        let Some(lanes) = &self.lanes else { return Ok(true) };
        lanes.parts.running.end(&turns);
        if let Some(job) = self.jobs.job(id).await? {
            let ended = TurnEvent::Ended {
                turn: job.turn,
                messages: Vec::new(),
                outcome: Outcome::Stopped,
            };
            lanes.parts.events.emit(&job.session, ended);
            lanes.wake(job.session);
        }
        Ok(true)
    }
}

/// Plans `/job`. A submission is committed here: its key is that of the command, so that the
/// command may act again after a crash.
pub(crate) async fn plan(
    lanes: &Arc<Lanes>,
    command: &LoggedInbound,
    argument: &str,
) -> Result<CommandPlan, StoreError> {
    const USE: &str = "Write /job, /job AGENT TASK, /job j5, or /job cancel j5.";
    let desk = JobDesk::of(lanes);
    let (first, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let text = match (first.to_ascii_lowercase().as_str(), rest.trim()) {
        ("", _) => list_text(&desk.list_jobs(SHOWN_JOBS, None).await?),
        ("cancel", id) => match id.to_ascii_lowercase().parse() {
            Ok(id) if desk.end_job(id).await? => format!("{id} is cancelled."),
            Ok(id) => format!("{id} does not exist or has ended."),
            Err(_) => USE.to_owned(),
        },
        (id, "") => match id.parse() {
            Ok(id) => desk.find_job(id).await?.map_or_else(
                || format!("There is no job {id}."),
                |job| format!("{}\n\n{}", line(&job), job.result.unwrap_or_default()),
            ),
            Err(_) => USE.to_owned(),
        },
        (_, task) => match submit(&desk, lanes, command, first, task).await {
            Ok(text) => text,
            Err(PublishError::Log(error)) => return Err(error),
            Err(refusal) => format!("I cannot accept this job: {refusal}."),
        },
    };
    Ok(CommandPlan::say(text.trim_end()))
}

async fn submit(
    desk: &JobDesk,
    lanes: &Lanes,
    command: &LoggedInbound,
    agent: &str,
    task: &str,
) -> Result<String, PublishError> {
    let agents = &lanes.parts.agents;
    if agents.named(agent).is_none() {
        let known: Vec<&str> = agents.agents.iter().map(Agent::shown_name).collect();
        return Ok(format!("There is no agent {agent}. The agents are: {}.", known.join(", ")));
    }
    let key = DedupeKey::parse(&format!("job {}", command.id))?;
    let asked = &command.message.inbound;
    let inbound = Inbound { key, content: Content::text(task), ..asked.clone() };
    let rules = JobRules { agent: agent.to_owned(), workspace: None, limits: JobLimits::default() };
    let SubmittedJob { id, .. } =
        desk.commit(inbound, JobPlace { chat: JobChat::Asking, rules }).await?;
    Ok(format!("{id} is in the log: {agent} works on it and reports here. /job {id} shows it."))
}

/// The most jobs that `/job` lists.
const SHOWN_JOBS: u32 = 10;

fn list_text(jobs: &[JobStatus]) -> String {
    if jobs.is_empty() {
        return "There are no jobs.".to_owned();
    }
    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(job: &JobStatus) -> String {
    let JobStatus { id, state, rules, task, usage, inference_runs, .. } = job;
    let task: String = task.chars().take(100).collect();
    let runs = if *inference_runs == 1 { "request" } else { "requests" };
    let (state, agent, price) = (state.word(), &rules.agent, usage.price());
    format!("{id} {state}, {agent}, {inference_runs} {runs}, {price}: {task}")
}

impl Agents {
    /// Returns the agent of a turn with the rules of the job to which the turn belongs: its
    /// workspace, and for the job's own turns its limits.
    ///
    /// # Errors
    /// [`NoDirectory`] if the workspace of the job cannot be used.
    pub fn for_job(
        &self,
        agent: AgentLoop,
        lineage: &[LineageTurn],
        rules: Option<JobRules>,
    ) -> Result<AgentLoop, NoDirectory> {
        let Some(JobRules { workspace, limits, .. }) = rules else { return Ok(agent) };
        let agent = if lineage.len() == 1 { with_limits(agent, limits) } else { agent };
        let (Some(workspace), Ok(of)) = (workspace, self.of_turn(lineage)) else {
            return Ok(agent);
        };
        self.directories.in_directory(of.shown_name(), Path::new(&workspace), agent)
    }
}

impl Lanes {
    /// Returns the agent of a turn with the rules of the job to which the turn belongs, if there is
    /// one: its workspace, and for the job's own turns its limits.
    pub(crate) async fn for_job(
        &self,
        agent: AgentLoop,
        lineage: &[LineageTurn],
    ) -> Result<Result<AgentLoop, NoDirectory>, StoreError> {
        let Some(root) = lineage.last() else { return Ok(Ok(agent)) };
        let rules = self.with_retry(|| self.parts.jobs.job_rules(&root.session)).await?;
        Ok(self.parts.agents.for_job(agent, lineage, rules))
    }

    /// Appends the summary of a job to the end of its turn; returns other ends unchanged.
    pub(crate) async fn with_job_summary(
        &self,
        turn: &TurnRecord,
        end: TurnEnd,
    ) -> Result<TurnEnd, StoreError> {
        let rules = self.with_retry(|| self.parts.jobs.job_rules(&turn.session)).await?;
        if rules.is_none() || matches!(end, TurnEnd::Waiting(_)) {
            return Ok(end);
        }
        // The log has the steps since the claim.
        let record = self.with_retry(|| self.parts.query.transcript(&turn.session, 1)).await?;
        let Some(record) = record.last().filter(|record| record.id == turn.id) else {
            return Ok(end);
        };
        let spent = || self.parts.ledger.spent(Some(turn.id), &turn.session, Timestamp(0));
        let spent = self.with_retry(spent).await?.turn;
        let with = |text: &str, runs: usize| {
            let summary = summary(record, &spent, runs);
            format!("{text}\n\n{summary}").trim_start().to_owned()
        };
        Ok(match end {
            TurnEnd::Answered(answer) => {
                let text = with(&answer.text, record.steps.len() + 1);
                TurnEnd::Answered(Answer { text, ..answer })
            }
            TurnEnd::Failed(notice) => TurnEnd::Failed(with(&notice, record.steps.len())),
            waiting @ TurnEnd::Waiting(_) => waiting,
        })
    }
}

fn with_limits(agent: AgentLoop, limits: JobLimits) -> AgentLoop {
    let JobLimits { max_inference_runs, max_seconds, max_cost } = limits;
    let AgentLimits { turn, budgets, .. } = agent.limits;
    let turn = TurnLimits {
        max_tool_iterations: max_inference_runs,
        max_duration: Duration::from_secs(max_seconds),
        ..turn
    };
    let turn_cost = match (budgets.turn_cost, max_cost) {
        (Some(budget), Some(own)) => Some(budget.min(own)),
        (budget, own) => own.or(budget),
    };
    let budgets = Budgets { turn_cost, ..budgets };
    AgentLoop { limits: AgentLimits { turn, budgets, ..agent.limits }, ..agent }
}
