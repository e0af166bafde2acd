//! The methods about jobs.

use avocet_protocol::ids::{DedupeKey, JobId};
use avocet_protocol::store::{JobRules, JobStatus, SubmittedJob};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ListParams, NamesTarget, Touches, listed_rows, named_target};

/// `job.submit`: submits a job. The result is a
/// [`SubmittedJob`](avocet_protocol::store::SubmittedJob), after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// `job.list`: a list of [`JobStatus`](avocet_protocol::store::JobStatus), the newest first, without
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListJobs {
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
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

/// `job.show`: one [`JobStatus`](avocet_protocol::store::JobStatus); `job.cancel`: null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedJob {
    /// The number of the job.
    pub id: JobId,
}

/// `job.show`: one job, without secrets.
#[derive(Debug)]
pub enum ShowJob {}

/// `job.cancel`: ends a job.
#[derive(Debug)]
pub enum CancelJob {}

impl NamesTarget for NamedJob {
    fn call_target(&self) -> CallTarget {
        CallTarget::Job(self.id)
    }
}

impl ListParams for ListJobs {
    type Row = JobStatus;

    fn page_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn continue_behind(&mut self, row: JobStatus) {
        self.before = Some(row.id);
    }
}

method!(CancelJob = "job.cancel": NamedJob => (), Sender, named_target::<Self>(), outside_libraries);
method!(ListJobs = "job.list": Self => Vec<JobStatus>, Observer, listed_rows::<Self>(), optional_params, outside_libraries);
method!(ShowJob = "job.show": NamedJob => JobStatus, Observer, named_target::<Self>());
method!(SubmitJob = "job.submit": Self => SubmittedJob, Operator, Touches::Everything, enters_message);
