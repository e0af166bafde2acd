//! `git_log`: lists the commits of a repository.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::parse::{self, LOG_FORMAT};
use super::repository::{GitOutcome, WorkspaceGit, check_name, failed_command};

const DEFAULT_COUNT: u64 = 20;

#[derive(Debug)]
pub(in crate::builtin) struct GitLog(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitLogArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
    /// Default: 20.
    #[schemars(range(min = 1, max = 200), extend("x-aliases" = ["limit", "max_count", "n"]))]
    count: Option<u64>,
    /// Relative to repository.
    path: Option<String>,
    /// Such as "2 weeks ago".
    since: Option<String>,
    /// Such as main..feature. Default: the current branch.
    revision: Option<String>,
}

#[async_trait]
impl Tool for GitLog {
    type Arguments = GitLogArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "List commits, newest first.";
        let described =
            Description::new("git_log", ToolClass::Pure, TEXT).in_group("git").parallel();
        Description { time_limit: self.0.time_limit(1), ..described }
    }

    async fn caution(&self, arguments: &GitLogArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn execute(
        &self,
        arguments: GitLogArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let GitLogArguments { repository, count, path, since, revision } = arguments;
        let count = format!("--max-count={}", count.unwrap_or(DEFAULT_COUNT));
        let since = since.map(|since| format!("--since={since}"));
        let mut words = vec!["log", LOG_FORMAT, "--no-show-signature", &count];
        words.extend(since.as_deref());
        if let Some(revision) = &revision {
            check_name("revision", revision)?;
            words.push(revision);
        }
        words.push("--");
        words.extend(path.as_deref());
        match self.0.run_git(repository.as_deref(), &words, context).await? {
            GitOutcome::Well(text) => Ok(json!(parse::parse_log(&text)).into()),
            GitOutcome::Wrong(why) if why.contains("does not have any commits yet") => {
                Ok(json!([]).into())
            }
            GitOutcome::Wrong(why) => Err(failed_command(&words, &why)),
        }
    }
}
