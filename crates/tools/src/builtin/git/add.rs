//! `git_add`: stages changes for the next commit.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, UndoPlace,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::repository::WorkspaceGit;
use super::status::git_status;

#[derive(Debug)]
pub(in crate::builtin) struct GitAdd(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitAddArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
    /// Relative to repository.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["files"]))]
    paths: Vec<String>,
    /// Stage every change.
    all: Option<bool>,
}

#[async_trait]
impl Tool for GitAdd {
    type Arguments = GitAddArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Stage changes. Returns the status.";
        let described = Description::new("git_add", ToolClass::Effect, TEXT).in_group("git");
        Description { time_limit: self.0.time_limit(2), ..described }
    }

    async fn caution(&self, arguments: &GitAddArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn undo_places(&self, _: &GitAddArguments, _: &ToolContext) -> Option<Vec<UndoPlace>> {
        self.0.undo_places()
    }

    async fn execute(
        &self,
        arguments: GitAddArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let GitAddArguments { repository, paths, all } = arguments;
        let repository = repository.as_deref();
        let mut words = vec!["add", "--all"];
        match (all.unwrap_or(false), paths.is_empty()) {
            (true, true) => {}
            (false, false) => {
                words.push("--");
                words.extend(paths.iter().map(String::as_str));
            }
            (_, _) => {
                let why = "give paths, or all; not both";
                return Err(ToolError::InvalidArgs(why.to_owned()));
            }
        }
        self.0.run(repository, &words, context).await?;
        Ok(git_status(&self.0, repository, context).await?.into())
    }
}
