//! The methods about jobs. If no daemon runs, the program's own commands call them directly.

use avocet_methods::{CancelJob, ListJobs, NamedJob, ShowJob, SocketMethod, SubmitJob};
use avocet_protocol::chat::Sender;
use avocet_protocol::ids::{JobId, SenderId};
use avocet_protocol::job::{JobControl, JobRequest};
use avocet_text::Redactor;

use crate::messages::{new_key, refusal};
use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::{check_limit, unavailable};
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
pub struct JobPorts<'a> {
    /// The jobs.
    pub jobs: &'a dyn JobControl,
    /// Removes secrets from the answers.
    pub redactor: &'a Redactor,
    /// The process that calls, and submits.
    pub peer: &'a SenderId,
}

impl<'a> From<MethodCall<'a>> for JobPorts<'a> {
    fn from(MethodCall { parts, caller, .. }: MethodCall<'a>) -> Self {
        Self { jobs: parts.jobs.as_ref(), redactor: &parts.redactor, peer: &caller.sender }
    }
}

impl RunMethod for SubmitJob {
    type Ports<'a> = JobPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { task, rules, key }: Self) -> Answered<Self> {
        let (sender, key) = (Sender::new(ports.peer.clone()), key.map_or_else(new_key, Ok)?);
        let submitted = ports.jobs.submit_job(JobRequest { sender, key, task, rules }).await;
        Reply::with_whole(&submitted.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for ListJobs {
    type Ports<'a> = JobPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { limit, before }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let jobs = ports.jobs.list_jobs(limit, before).await.map_err(unavailable)?;
        Reply::without_secrets(&jobs, ports.redactor)
    }
}

impl RunMethod for ShowJob {
    type Ports<'a> = JobPorts<'a>;

    async fn run(ports: Self::Ports<'_>, NamedJob { id }: NamedJob) -> Answered<Self> {
        let job = ports.jobs.find_job(id).await.map_err(unavailable)?;
        Reply::without_secrets(&job.ok_or_else(|| unknown(id))?, ports.redactor)
    }
}

impl RunMethod for CancelJob {
    type Ports<'a> = JobPorts<'a>;

    async fn run(
        JobPorts { jobs, .. }: Self::Ports<'_>,
        NamedJob { id }: NamedJob,
    ) -> Answered<Self> {
        if jobs.end_job(id).await.map_err(unavailable)? {
            return Reply::with_whole(&());
        }
        let job = jobs.find_job(id).await.map_err(unavailable)?.ok_or_else(|| unknown(id))?;
        let message = format!("{id} is {} and cannot be cancelled", job.state.as_str());
        Err(RpcError::new(RpcError::CONFLICT, message))
    }
}

fn unknown(id: JobId) -> RpcError {
    let message = format!("there is no job {id}; `avocet job list` shows them");
    RpcError::new(RpcError::NOT_FOUND, message)
}
