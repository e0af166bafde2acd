//! The port through which people and programs submit, read and cancel jobs.

use std::fmt;

use async_trait::async_trait;

use crate::{
    DedupeKey, JobId, JobRules, JobStatus, PublishError, Sender, StoreError, SubmittedJob,
};

/// Jobs as callers outside of the daemon's core see them: a submission passes admission, and a
/// cancellation stops the workers.
#[async_trait]
pub trait JobControl: fmt::Debug + Send + Sync {
    /// Submits a job whose progress and result go to a chat of the terminal. It counts as accepted
    /// when this returns.
    ///
    /// # Errors
    /// [`PublishError`]: the job is not in the log.
    async fn submit_job(&self, request: JobRequest) -> Result<SubmittedJob, PublishError>;

    /// Returns the newest jobs, newest first. With `before`, only older ones than this.
    async fn list_jobs(
        &self,
        limit: u32,
        before: Option<JobId>,
    ) -> Result<Vec<JobStatus>, StoreError>;

    /// Returns one job; `None` for an unknown number.
    async fn find_job(&self, id: JobId) -> Result<Option<JobStatus>, StoreError>;

    /// Ends a job. Returns `false` if it had ended before or its number is unknown.
    async fn end_job(&self, id: JobId) -> Result<bool, StoreError>;
}

/// A request for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The person or process that submits it.
    pub sender: Sender,
    /// Identifies repetitions of the same request.
    pub key: DedupeKey,
    /// The task.
    pub task: String,
    /// The rules of the job.
    pub rules: JobRules,
}
