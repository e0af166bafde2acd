//! The git tools, one flat tool per operation. Each runs the system's git in the sandbox, with an
//! argument list instead of a shell.

mod add;
mod branches;
mod commit;
mod diff;
mod job;
mod log;
mod parse;
mod push;
mod repository;
mod status;
mod switch;

pub(super) use add::GitAdd;
pub(super) use branches::GitBranches;
pub(super) use commit::GitCommit;
pub(super) use diff::GitDiff;
pub(super) use job::{JobBranchTool, JobCommitsTool};
pub(super) use log::GitLog;
pub(super) use push::GitPush;
pub(super) use repository::WorkspaceGit;
pub(super) use status::GitStatus;
pub(super) use switch::GitSwitch;

/// Runs every parser of git output on a text. For fuzzing.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn read_as_git(text: &str) {
    parse::parse_status(text);
    parse::parse_log(text);
    parse::parse_branches(text);
    parse::split_diff(text);
    parse::parse_push(text);
    parse::without_credentials(text);
}
