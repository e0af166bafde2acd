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

/// Reads a text as each tool reads what git prints.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn read_as_git(text: &str) {
    parse::status(text);
    parse::log(text);
    parse::branches(text);
    parse::diff(text);
    parse::pushed(text);
    parse::without_credentials(text);
}
