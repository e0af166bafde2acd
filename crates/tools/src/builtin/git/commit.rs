//! `git_commit`: commits the staged changes.

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, UndoPlace,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::parse::{self, LOG_FORMAT};
use super::repository::{GitOutcome, WorkspaceGit, failed_command};

/// git's complaint about a missing part of the author's identity, and the setting used in that
/// case.
const IDENTITY: [(&str, &str); 2] = [
    ("no name was given", "user.name=Avocet"),
    ("no email was given", "user.email=avocet@localhost"),
];
/// git's messages for an empty commit.
const NOTHING: [&str; 3] = ["nothing to commit", "no changes added", "nothing added to commit"];

#[derive(Debug)]
pub(in crate::builtin) struct GitCommit(pub(in crate::builtin) WorkspaceGit);

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::builtin) struct GitCommitArguments {
    /// Directory of the repository. Default: the root.
    #[schemars(extend("x-aliases" = ["repo", "repo_path"]))]
    repository: Option<String>,
    #[schemars(length(min = 1))]
    message: String,
    /// Stage changes of known files first.
    all: Option<bool>,
}

#[async_trait]
impl Tool for GitCommit {
    type Arguments = GitCommitArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Commit the staged changes.";
        let described = Description::new("git_commit", ToolClass::Effect, TEXT).in_group("git");
        Description { time_limit: self.0.time_limit(4), ..described }
    }

    async fn caution(&self, arguments: &GitCommitArguments, _: &ToolContext) -> Caution {
        self.0.caution_for_repository(arguments.repository.as_deref()).await
    }

    async fn undo_places(&self, _: &GitCommitArguments, _: &ToolContext) -> Option<Vec<UndoPlace>> {
        self.0.undo_places()
    }

    async fn execute(
        &self,
        arguments: GitCommitArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let GitCommitArguments { repository, message, all } = arguments;
        if message.trim().is_empty() {
            return Err(ToolError::InvalidArgs("message is empty".to_owned()));
        }
        let repository = repository.as_deref();
        let message = format!("--message={message}");
        let mut commit = vec!["commit", "--quiet", "--no-verify", "--no-gpg-sign", &message];
        commit.extend(all.unwrap_or(false).then_some("--all"));
        self.run_commit(repository, &commit, context).await?;
        let newest = ["log", LOG_FORMAT, "--max-count=1", "--stat=120"];
        let text = self.0.run(repository, &newest, context).await?;
        let commit = parse::parse_log(&text).pop().unwrap_or_default();
        let stat = text.rsplit(parse::FIELD).next().unwrap_or_default().trim_matches('\n');
        Ok(json!({ "commit": commit["commit"], "author": commit["author"], "subject": commit["subject"], "stat": stat }).into())
    }
}

impl GitCommit {
    /// Commits. If git knows no author, Avocet is the author.
    async fn run_commit(
        &self,
        repository: Option<&str>,
        commit: &[&str],
        context: &ToolContext,
    ) -> Result<(), ToolError> {
        let mut identity: Vec<&str> = Vec::new();
        loop {
            let words = [&identity[..], commit].concat();
            let why = match self.0.run_git(repository, &words, context).await? {
                GitOutcome::Well(_) => return Ok(()),
                GitOutcome::Wrong(why) => why,
            };
            let missing = IDENTITY.iter().find(|(said, _)| why.contains(said));
            match missing.filter(|(_, setting)| !identity.contains(setting)) {
                Some((_, setting)) => identity.extend(["-c", setting]),
                None if NOTHING.iter().any(|nothing| why.contains(nothing)) => {
                    return Err(ToolError::ExecutionFailed(
                        "nothing to commit: no change is staged. git_status shows what has \
                            changed, \
                         git_add stages it"
                            .to_owned(),
                    ));
                }
                None => return Err(failed_command(&words, &why)),
            }
        }
    }
}
