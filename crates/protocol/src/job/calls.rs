//! The calls that the program makes in a job: the branch at its start, the list of its commits and
//! the pull request at its end. They are in the log like the calls of a model, with the same
//! approvals and crash rules. No model is offered these tools.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::turn::LoggedCall;

/// Begins the job's own branch. The first step of a job.
pub const JOB_BRANCH: &str = "job_branch";
/// Lists the commits of the branch. Follows the last answer of the model.
pub const JOB_COMMITS: &str = "job_commits";
/// Runs the command that opens a pull request. The last step of a job.
pub const JOB_PULL_REQUEST: &str = "job_pull_request";

/// The names of all these calls.
pub const JOB_CALLS: [&str; 3] = [JOB_BRANCH, JOB_COMMITS, JOB_PULL_REQUEST];

/// The heading of the summary that follows the final text of a job.
pub const JOB_SUMMARY: &str = "**Summary**";

/// The result of [`JOB_BRANCH`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobBranch {
    /// The branch; `None` if the job works without a branch.
    pub branch: Option<String>,
    /// The branch or commit that was checked out before; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The commit at which the branch begins; `None` if there was no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Text for the model and the summary: the reason why there is no branch, or the use of it.
    pub note: String,
}

impl JobBranch {
    /// Returns the result of a call; `None` for other calls, and for a failed one.
    #[must_use]
    pub fn from_call(call: &LoggedCall) -> Option<Self> {
        value_of(JOB_BRANCH, call)
    }
}

/// The result of [`JOB_COMMITS`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobCommits {
    /// The commits since the base, the newest first.
    pub commits: Vec<JobCommit>,
    /// Changed or new files that are in no commit.
    pub uncommitted: u64,
}

/// A commit that a job has added to its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCommit {
    /// The whole id.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
}

impl JobCommits {
    /// Returns the result of a call; `None` for other calls, and for a failed one.
    #[must_use]
    pub fn from_call(call: &LoggedCall) -> Option<Self> {
        value_of(JOB_COMMITS, call)
    }
}

fn value_of<T: DeserializeOwned>(name: &str, call: &LoggedCall) -> Option<T> {
    let result = call.result().filter(|result| result.ok && call.call.name == name)?;
    T::deserialize(&result.value).ok()
}
