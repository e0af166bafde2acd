//! The methods about jobs. If no daemon runs, the program's own commands call them directly.

use avocet_protocol::{
    DedupeKey, JobControl, JobId, JobRequest, JobRules, Redactor, Sender, SenderId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::methods::{new_key, refusal};
use crate::values::{check_limit, or_empty, presentable, read, unavailable};
use crate::wire::RpcError;

/// `job.submit`: submits a job. The result is a
/// [`SubmittedJob`](avocet_protocol::SubmittedJob), after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitJob {
    /// The task.
    pub task: String,
    /// The rules of the job.
    #[serde(flatten)]
    pub rules: JobRules,
    /// Identifies repetitions of the same job. Default: a random key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DedupeKey>,
}

/// `job.list`: a list of [`JobStatus`](avocet_protocol::JobStatus), the newest first, without
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListJobs {
    /// The most rows, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
    pub limit: u32,
    /// The last row that the client has. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<JobId>,
}

impl Default for ListJobs {
    fn default() -> Self {
        Self { limit: 50, before: None }
    }
}

/// `job.show`: one [`JobStatus`](avocet_protocol::JobStatus); `job.cancel`: null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedJob {
    /// The number of the job.
    pub id: JobId,
}

/// Answers one of these methods for the process `peer`; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_jobs(
    jobs: &dyn JobControl,
    redactor: &Redactor,
    peer: &SenderId,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    let answer = match method {
        "job.submit" => submit(jobs, peer, params).await,
        "job.list" => list(jobs, redactor, params).await,
        "job.show" => show(jobs, redactor, params).await,
        "job.cancel" => cancel(jobs, params).await,
        _ => return None,
    };
    Some(answer)
}

async fn submit(jobs: &dyn JobControl, peer: &SenderId, params: Value) -> Result<Value, RpcError> {
    let SubmitJob { task, rules, key } = read("job.submit", params)?;
    let (sender, key) = (Sender::new(peer.clone()), key.map_or_else(new_key, Ok)?);
    let submitted = jobs.submit_job(JobRequest { sender, key, task, rules }).await;
    Ok(json!(submitted.map_err(|error| refusal(&error))?))
}

async fn list(
    jobs: &dyn JobControl,
    redactor: &Redactor,
    params: Value,
) -> Result<Value, RpcError> {
    let ListJobs { limit, before } = read("job.list", or_empty(params))?;
    check_limit("job.list", "limit", limit)?;
    let jobs = jobs.list_jobs(limit, before).await.map_err(unavailable)?;
    Ok(presentable(json!(jobs), redactor))
}

async fn show(
    jobs: &dyn JobControl,
    redactor: &Redactor,
    params: Value,
) -> Result<Value, RpcError> {
    let NamedJob { id } = read("job.show", params)?;
    let job = jobs.find_job(id).await.map_err(unavailable)?;
    Ok(presentable(json!(job.ok_or_else(|| unknown(id))?), redactor))
}

async fn cancel(jobs: &dyn JobControl, params: Value) -> Result<Value, RpcError> {
    let NamedJob { id } = read("job.cancel", params)?;
    if jobs.end_job(id).await.map_err(unavailable)? {
        return Ok(Value::Null);
    }
    let job = jobs.find_job(id).await.map_err(unavailable)?.ok_or_else(|| unknown(id))?;
    let message = format!("{id} is {} and cannot be cancelled", job.state.word());
    Err(RpcError::new(RpcError::CONFLICT, message))
}

fn unknown(id: JobId) -> RpcError {
    let message = format!("there is no job {id}; `avocet job list` shows them");
    RpcError::new(RpcError::NOT_FOUND, message)
}
