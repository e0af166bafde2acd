//! `git_switch`: switches to another branch or creates one.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, UndoPlace,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::repository::{WorkspaceGit, check_name, check_ref};
use super::status::git_status;

#[derive(Debug)]
pub(in crate::builtin) struct GitSwitch(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitSwitchArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
    #[schemars(extend("x-aliases" = ["branch_name", "name"]))]
    branch: String,
    /// Create the branch.
    create: Option<bool>,
    /// The start of a new branch. Default: the current commit.
    #[schemars(extend("x-aliases" = ["base_branch", "start_point"]))]
    from: Option<String>,
}

#[async_trait]
impl Tool for GitSwitch {
    type Arguments = GitSwitchArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Switch to a branch, or create it; changes come along. Returns the \
            status.";
        let described = Description::new("git_switch", ToolClass::Effect, TEXT).in_group("git");
        Description { time_limit: self.0.time_limit(2), ..described }
    }

    async fn caution(&self, arguments: &GitSwitchArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn undo_places(&self, _: &GitSwitchArguments, _: &ToolContext) -> Option<Vec<UndoPlace>> {
        self.0.undo_places()
    }

    async fn execute(
        &self,
        arguments: GitSwitchArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let GitSwitchArguments { repository, branch, create, from } = arguments;
        let (repository, create) = (repository.as_deref(), create.unwrap_or(false));
        check_ref("branch", &branch)?;
        let mut words = vec!["switch", "--quiet", "--no-recurse-submodules"];
        words.extend(create.then_some("--create"));
        words.push(&branch);
        if let Some(from) = &from {
            if !create {
                return Err(ToolError::InvalidArgs("from goes with create".to_owned()));
            }
            check_name("from", from)?;
            words.push(from);
        }
        self.0.run(repository, &words, context).await?;
        Ok(git_status(&self.0, repository, context).await?.into())
    }
}
