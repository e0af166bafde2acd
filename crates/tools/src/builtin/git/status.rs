//! `git_status`: shows the branch and the changes.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::parse;
use super::repository::WorkspaceGit;

#[derive(Debug)]
pub(in crate::builtin) struct GitStatus(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitStatusArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
}

#[async_trait]
impl Tool for GitStatus {
    type Arguments = GitStatusArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Show the branch, staged and unstaged changes, untracked files, \
            conflicts.";
        let described =
            Description::new("git_status", ToolClass::Pure, TEXT).in_group("git").parallel();
        Description { time_limit: self.0.time_limit(1), ..described }
    }

    async fn caution(&self, arguments: &GitStatusArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn execute(
        &self,
        arguments: GitStatusArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        Ok(git_status(&self.0, arguments.repository.as_deref(), context).await?.into())
    }
}

/// The status of a repository, in the form that the git tools return.
pub(super) async fn git_status(
    git: &WorkspaceGit,
    repository: Option<&str>,
    context: &ToolContext,
) -> Result<Value, ToolError> {
    let arguments = [
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
    ];
    Ok(parse::parse_status(&git.run(repository, &arguments, context).await?))
}
