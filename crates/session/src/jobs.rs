//! Jobs from the command line, the socket and chats.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_bus::Bus;
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Outcome, SessionId};
use avocet_protocol::ids::JobId;
use avocet_protocol::job::{JobControl, JobRequest};
use avocet_protocol::store::{
    JobChat, JobRules, JobStatus, Jobs, NewJob, StoreError, SubmittedJob,
};
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use avocet_text::nearest;

use crate::Agent;
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

    pub(crate) fn from_lanes(lanes: &Arc<Lanes>) -> Self {
        let (jobs, bus) = (lanes.parts.jobs.clone(), lanes.parts.bus.clone());
        Self { jobs, bus, lanes: Some(lanes.clone()) }
    }

    /// Refuses a job whose agent or workspace cannot be used. Without a daemon, the caller has to
    /// check both.
    pub(crate) fn check_agent(&self, rules: &JobRules) -> Result<(), PublishError> {
        let Some(lanes) = &self.lanes else { return Ok(()) };
        let agents = lanes.parts.agents.now();
        let Some(agent) = agents.named(&rules.agent) else {
            let known: Vec<&str> = agents.agents.iter().map(Agent::shown_name).collect();
            return Err(PublishError::Job(no_agent(&rules.agent, &known)));
        };
        let Some(directory) = &rules.workspace else { return Ok(()) };
        let opened = agents.directories.in_directory(
            agent.shown_name(),
            Path::new(directory),
            agent.run.clone(),
        );
        opened.map(|_| ()).map_err(|error| PublishError::Job(error.to_string()))
    }

    /// Commits an admitted job and wakes its lane.
    pub(crate) async fn commit_job(
        &self,
        inbound: Inbound,
        job: JobPlace,
    ) -> Result<SubmittedJob, PublishError> {
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
pub(crate) struct JobPlace {
    pub(crate) chat: JobChat,
    pub(crate) rules: JobRules,
}

/// Returns the error about an unknown agent.
#[must_use]
pub fn no_agent(name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known.iter().copied())
        .map(|near| format!("did you mean {near}? "))
        .unwrap_or_default();
    format!("there is no agent {name:?}; {hint}the agents are: {}", known.join(", "))
}

#[async_trait]
impl JobControl for JobDesk {
    async fn submit_job(&self, request: JobRequest) -> Result<SubmittedJob, PublishError> {
        let JobRequest { sender, key, task, rules } = request;
        self.check_agent(&rules)?;
        // The store replaces this chat by the job's own.
        let chat = SessionId::of_terminal_job(JobId(0)).address();
        let inbound = Inbound::new(chat, sender, key, Content::text(task));
        self.commit_job(inbound, JobPlace { chat: JobChat::Own, rules }).await
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
        lanes.parts.running.signal_ends(&turns);
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
