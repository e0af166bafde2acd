//! `git_branches`: lists the branches.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::parse::{self, BRANCH_FORMAT};
use super::repository::WorkspaceGit;

#[derive(Debug)]
pub(in crate::builtin) struct GitBranches(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitBranchesArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
}

#[async_trait]
impl Tool for GitBranches {
    type Arguments = GitBranchesArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "List branches, newest commit first.";
        let described =
            Description::new("git_branches", ToolClass::Pure, TEXT).in_group("git").parallel();
        Description { time_limit: self.0.time_limit(1), ..described }
    }

    async fn caution(&self, arguments: &GitBranchesArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn execute(
        &self,
        arguments: GitBranchesArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let words =
            ["for-each-ref", BRANCH_FORMAT, "--sort=-committerdate", "refs/heads", "refs/remotes"];
        let text = self.0.run(arguments.repository.as_deref(), &words, context).await?;
        Ok(parse::parse_branches(&text).into())
    }
}
