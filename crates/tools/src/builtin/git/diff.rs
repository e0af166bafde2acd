//! `git_diff`: shows changes line by line.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::parse;
use super::repository::{WorkspaceGit, check_name};

#[derive(Debug)]
pub(in crate::builtin) struct GitDiff(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitDiffArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
    #[schemars(extend("x-aliases" = ["cached"]))]
    staged: Option<bool>,
    /// Relative to repository.
    path: Option<String>,
    /// Default: the last commit.
    #[schemars(extend("x-aliases" = ["base", "target"]))]
    from: Option<String>,
    /// Default: the files as they are.
    to: Option<String>,
}

#[async_trait]
impl Tool for GitDiff {
    type Arguments = GitDiffArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Show unstaged or staged changes, or those between two revisions.";
        let described =
            Description::new("git_diff", ToolClass::Pure, TEXT).in_group("git").parallel();
        Description { time_limit: self.0.time_limit(2), ..described }
    }

    async fn caution(&self, arguments: &GitDiffArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn execute(
        &self,
        arguments: GitDiffArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let GitDiffArguments { repository, staged, path, from, to } = arguments;
        let staged = staged.unwrap_or(false);
        if to.is_some() && (from.is_none() || staged) {
            let why = "to goes with from, and without staged";
            return Err(ToolError::InvalidArgs(why.to_owned()));
        }
        let mut words = vec!["diff", "--no-ext-diff", "--no-textconv", "--submodule=short"];
        words.push("--ignore-submodules=dirty");
        words.extend(["--stat=120", "--patch"]);
        words.extend(staged.then_some("--cached"));
        for (what, revision) in [("from", &from), ("to", &to)] {
            if let Some(revision) = revision {
                check_name(what, revision)?;
                words.push(revision);
            }
        }
        words.push("--");
        words.extend(path.as_deref());
        // Outside a repository, `git diff` would compare any two files.
        self.0.run(repository.as_deref(), &["rev-parse", "--git-dir"], context).await?;
        let text = self.0.run(repository.as_deref(), &words, context).await?;
        let (stat, diff) = parse::split_diff(&text);
        Ok(json!({ "stat": stat, "diff": diff }).into())
    }
}
