//! git, one flat tool for each thing that is done with it. Each runs the system's git in a cell, with
//! its arguments one by one and without a shell.

mod add;
mod branches;
mod commit;
mod diff;
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
pub(super) use log::GitLog;
pub(super) use push::GitPush;
pub(super) use repository::Git;
pub(super) use status::GitStatus;
pub(super) use switch::GitSwitch;
