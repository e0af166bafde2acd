//! Jobs: long work in a branch of a repository, which runs beside the conversations.

mod calls;
mod control;

pub use calls::{
    JOB_BRANCH, JOB_CALLS, JOB_COMMITS, JOB_PULL_REQUEST, JOB_SUMMARY, JobBranch, JobCommit,
    JobCommits,
};
pub use control::{JobControl, JobRequest};
