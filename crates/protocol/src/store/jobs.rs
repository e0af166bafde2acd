//! Jobs: tasks for an agent in the background. Each job has its own session.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Result, Total};
use crate::chat::{ChatAddress, NewInbound, SessionId};
use crate::clock::Timestamp;
use crate::ids::{JobId, MessageId, TurnId};
use crate::model::Money;

/// The jobs in the log.
#[async_trait]
pub trait Jobs: fmt::Debug + Send + Sync {
    /// Commits a job and its first message, which starts the job's turn. A key that was used before
    /// returns the first job. Durable when this returns.
    async fn submit(&self, job: &NewJob) -> Result<SubmittedJob>;

    /// Returns the newest jobs, newest first. With `before`, only older ones than this.
    async fn jobs(&self, limit: u32, before: Option<JobId>) -> Result<Vec<JobStatus>>;

    /// Returns one job; `None` for an unknown number.
    async fn job(&self, id: JobId) -> Result<Option<JobStatus>>;

    /// Ends a job that has not ended, with its turn and the children of that turn. Returns the
    /// ended turns, whose workers have to stop; `None` if the job had ended before.
    async fn cancel_job(&self, id: JobId) -> Result<Option<Vec<TurnId>>>;

    /// Returns the rules of the job that runs in a session; `None` for any other session.
    async fn job_rules(&self, session: &SessionId) -> Result<Option<JobRules>>;
}

/// A job that is about to be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The task as a message. The store replaces its session by that of the job, and for
    /// [`JobChat::Own`] its address, too.
    pub message: NewInbound,
    /// The destination of progress and result.
    pub chat: JobChat,
    /// They hold for the whole job, after a restart, too.
    pub rules: JobRules,
}

/// The destination of a job's progress and result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobChat {
    /// The chat of its message. The session is [`SessionId::of_job`].
    Asking,
    /// A chat of the terminal, to which a person can connect. The session is
    /// [`SessionId::of_terminal_job`].
    Own,
}

/// The rules under which a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobRules {
    /// The name of its profile.
    pub agent: String,
    /// The directory in which it works, as an absolute path; `None` for the profile's workspace.
    pub workspace: Option<String>,
    /// The limits of the job.
    pub limits: JobLimits,
}

/// The limits of a job. Any of them ends the job with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobLimits {
    /// Requests to the model.
    pub max_inference_runs: u32,
    /// Running time in seconds, without the waits for people.
    pub max_seconds: u64,
    /// The most cost; `None` if the job sets no limit.
    pub max_cost: Option<Money>,
}

impl JobLimits {
    /// The limit of model requests if the submitter names none.
    pub const DEFAULT_RUNS: u32 = 20;
    /// The limit of seconds if the submitter names none.
    pub const DEFAULT_SECONDS: u64 = 3600;
}

impl Default for JobLimits {
    fn default() -> Self {
        Self {
            max_inference_runs: Self::DEFAULT_RUNS,
            max_seconds: Self::DEFAULT_SECONDS,
            max_cost: None,
        }
    }
}

/// The result of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmittedJob {
    /// The number of the job.
    pub id: JobId,
    /// The message that starts it.
    pub message: MessageId,
    /// Its session.
    pub session: SessionId,
    /// `true` if the key was used before: nothing was written.
    pub is_duplicate: bool,
}

/// A job and its progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobStatus {
    /// The number of the job.
    pub id: JobId,
    /// The state, which follows from its message and its turn.
    pub state: JobState,
    /// The task.
    pub task: String,
    /// They hold for the whole job, after a restart, too.
    #[serde(flatten)]
    pub rules: JobRules,
    /// The destination of progress and result.
    pub chat: ChatAddress,
    /// The person or process that submitted it.
    pub submitted_by: String,
    /// The time of the submission.
    pub submitted_at: Timestamp,
    /// The session in which it runs.
    pub session: SessionId,
    /// The turn that does the work, once it has begun.
    pub turn: Option<TurnId>,
    /// The start of that turn.
    pub started_at: Option<Timestamp>,
    /// The end of that turn.
    pub ended_at: Option<Timestamp>,
    /// Requests to the model so far, as recorded steps.
    pub inference_runs: u32,
    /// Tokens and cost so far, those of children included.
    pub usage: Total,
    /// The final text or the reason of the end.
    pub result: Option<String>,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// The job waits for its turn.
    Queued,
    /// The agent works on it.
    Running,
    /// The job waits for a person or a child.
    Waiting,
    /// The job ended with an answer.
    Completed,
    /// The job ended with an error, or at a limit.
    Failed,
    /// A person ended the job.
    Cancelled,
}

impl JobState {
    /// In the order of declaration.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word in CLI output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns `true` if the job has ended.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
