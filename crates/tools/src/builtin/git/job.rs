//! `job_branch` and `job_commits`: the branch of a job. The program calls them by itself; no model is
//! offered them.

use async_trait::async_trait;
use avocet_protocol::job::{JOB_BRANCH, JOB_COMMITS, JobBranch, JobCommit, JobCommits};
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::parse::{self, LOG_FORMAT};
use super::repository::{GitOutcome, NoGit, WorkspaceGit, check_name, check_ref, failed_command};

/// The most commits that are listed.
const MOST_COMMITS: &str = "--max-count=50";
/// The most changed files that an error names.
const MOST_NAMED: usize = 5;
/// The call of git that names the branch and the changed files.
const STATUS: [&str; 5] =
    ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty"];

/// Begins a branch at the current commit. `None` without a sandbox for programs.
#[derive(Debug)]
pub(in crate::builtin) struct JobBranchTool(pub(in crate::builtin) Option<WorkspaceGit>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct BranchArguments {
    /// The name of the new branch.
    branch: String,
}

#[async_trait]
impl Tool for JobBranchTool {
    type Arguments = BranchArguments;

    /// The class is pure although the call changes the repository: after a crash it may run again,
    /// because a second run finds the branch of the first.
    fn describe(&self) -> Description {
        let described = Description::new(JOB_BRANCH, ToolClass::Pure, "Begin the branch of a job.");
        match &self.0 {
            Some(git) => Description { time_limit: git.time_limit(4), ..described },
            None => described,
        }
    }

    async fn caution(&self, _: &BranchArguments, _: &ToolContext) -> Caution {
        match &self.0 {
            Some(git) => git.caution_for_repository(None).await,
            None => Caution::Never,
        }
    }

    async fn execute(
        &self,
        arguments: BranchArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        check_ref("branch", &arguments.branch)?;
        let Some(git) = &self.0 else {
            return Ok(without_branch("programs are switched off here"));
        };
        let status = match git.try_git(None, &STATUS, context).await? {
            Ok(GitOutcome::Well(text)) => parse::parse_status(&text),
            Ok(GitOutcome::Wrong(why)) => return Err(failed_command(&STATUS, &why)),
            Err(NoGit::NotInstalled) => return Ok(without_branch("git is not installed")),
            Err(NoGit::NoRepository(_)) => {
                return Ok(without_branch("the workspace is not a git repository"));
            }
        };
        Ok(json!(begin_branch(git, &arguments.branch, &status, context).await?).into())
    }
}

fn without_branch(why: &str) -> ToolOutcome {
    json!(JobBranch { note: why.to_owned(), ..JobBranch::default() }).into()
}

/// Begins the branch, or goes on with the one that an interrupted run has begun.
async fn begin_branch(
    git: &WorkspaceGit,
    branch: &str,
    status: &Value,
    context: &ToolContext,
) -> Result<JobBranch, ToolError> {
    let base = status["commit"].as_str().map(str::to_owned);
    let current = status["branch"].as_str().map(str::to_owned);
    let note = "commit your work on this branch with git_add and git_commit".to_owned();
    if current.as_deref() == Some(branch) {
        let from = line_of_git(git, &["rev-parse", "--abbrev-ref", "@{-1}"], context).await?;
        return Ok(JobBranch { branch: current, from, base, note });
    }
    let changed = changed_files(status);
    if !changed.is_empty() {
        let named = changed.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
        return Err(ToolError::ExecutionFailed(format!(
            "the workspace has uncommitted changes ({named}), and they are not part of this job. \
                They stay as they are: commit or stash them, then submit the job again"
        )));
    }
    let place = format!("refs/heads/{branch}");
    let at = line_of_git(git, &["rev-parse", "--verify", "--quiet", &place], context).await?;
    let switch = ["switch", "--quiet", "--no-recurse-submodules"];
    match at {
        None => git.run(None, &[&switch[..], &["--create", branch]].concat(), context).await?,
        Some(at) if Some(&at) == base.as_ref() => {
            git.run(None, &[&switch[..], &[branch]].concat(), context).await?
        }
        Some(_) => {
            return Err(ToolError::ExecutionFailed(format!(
                "the branch {branch} exists already with other commits; rename or delete it, then \
                    submit the job again"
            )));
        }
    };
    let from = current.or_else(|| base.clone());
    Ok(JobBranch { branch: Some(branch.to_owned()), from, base, note })
}

/// Returns the only line of git's output; `None` if git fails.
async fn line_of_git(
    git: &WorkspaceGit,
    arguments: &[&str],
    context: &ToolContext,
) -> Result<Option<String>, ToolError> {
    match git.run_git(None, arguments, context).await? {
        GitOutcome::Well(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        GitOutcome::Wrong(_) => Ok(None),
    }
}

/// Returns the changed files that git knows. Other files stay beside the commits of a job.
fn changed_files(status: &Value) -> Vec<&str> {
    let list = |key: &str| status[key].as_array().into_iter().flatten();
    let changes = list("changes").filter_map(|change| change["path"].as_str());
    changes.chain(list("conflicts").filter_map(Value::as_str)).collect()
}

/// Lists the commits of a job. `None` without a sandbox for programs.
#[derive(Debug)]
pub(in crate::builtin) struct JobCommitsTool(pub(in crate::builtin) Option<WorkspaceGit>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct CommitsArguments {
    /// The commit at which the branch began; `None` if there was none.
    base: Option<String>,
}

#[async_trait]
impl Tool for JobCommitsTool {
    type Arguments = CommitsArguments;

    fn describe(&self) -> Description {
        let described =
            Description::new(JOB_COMMITS, ToolClass::Pure, "List the commits of a job.");
        match &self.0 {
            Some(git) => Description { time_limit: git.time_limit(2), ..described },
            None => described,
        }
    }

    async fn caution(&self, _: &CommitsArguments, _: &ToolContext) -> Caution {
        match &self.0 {
            Some(git) => git.caution_for_repository(None).await,
            None => Caution::Never,
        }
    }

    async fn execute(
        &self,
        arguments: CommitsArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let Some(git) = &self.0 else {
            return Err(ToolError::ExecutionFailed("programs are switched off here".to_owned()));
        };
        let range = match &arguments.base {
            Some(base) => {
                check_name("base", base)?;
                format!("{base}..HEAD")
            }
            None => "HEAD".to_owned(),
        };
        let words = ["log", LOG_FORMAT, "--no-show-signature", MOST_COMMITS, &range, "--"];
        let commits = match git.run_git(None, &words, context).await? {
            GitOutcome::Well(text) => parse::parse_log(&text),
            // The branch has no commit yet.
            GitOutcome::Wrong(_) if arguments.base.is_none() => Vec::new(),
            GitOutcome::Wrong(why) => return Err(failed_command(&words, &why)),
        };
        let status = parse::parse_status(&git.run(None, &STATUS, context).await?);
        let untracked = status["untracked"].as_array().map_or(0, Vec::len);
        let left_out = status["left_out"].as_u64().unwrap_or_default();
        let uncommitted = (changed_files(&status).len() + untracked) as u64 + left_out;
        Ok(json!(JobCommits {
            commits: commits.iter().filter_map(parse_commit).collect(),
            uncommitted
        })
        .into())
    }
}

fn parse_commit(entry: &Value) -> Option<JobCommit> {
    let text = |key: &str| entry[key].as_str().map(str::to_owned);
    Some(JobCommit { commit: text("commit")?, subject: text("subject")? })
}
