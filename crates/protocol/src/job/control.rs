//! The port through which people and programs submit, read and cancel jobs.

use std::fmt;

use async_trait::async_trait;

use crate::bus::PublishError;
use crate::chat::Sender;
use crate::ids::{DedupeKey, JobId};
use crate::store::{JobRules, JobStatus, StoreError, SubmittedJob};

/// Jobs, for callers outside of the daemon's core. A submission passes admission; a cancellation
/// stops the workers.
#[async_trait]
pub trait JobControl: fmt::Debug + Send + Sync {
    /// Submits a job whose progress and result go to a chat of the terminal. It counts as accepted
    /// when this returns.
    ///
    /// # Errors
    /// [`PublishError`]: the job is not in the log.
    async fn submit_job(&self, request: JobRequest) -> Result<SubmittedJob, PublishError>;

    /// Returns jobs, newest first. With `before`, only those that are older than this one.
    async fn list_jobs(
        &self,
        limit: u32,
        before: Option<JobId>,
    ) -> Result<Vec<JobStatus>, StoreError>;

    /// Returns one job; `None` for an unknown number.
    async fn find_job(&self, id: JobId) -> Result<Option<JobStatus>, StoreError>;

    /// Cancels a job. Returns `false` if it had ended before or its number is unknown.
    async fn end_job(&self, id: JobId) -> Result<bool, StoreError>;
}

/// A task that is about to become a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The person or process that submits it.
    pub sender: Sender,
    /// The idempotency key: repetitions of the same request have the same key.
    pub key: DedupeKey,
    /// The task.
    pub task: String,
    /// Stored with the job, so that they hold after a restart, too.
    pub rules: JobRules,
}
