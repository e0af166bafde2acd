//! `job_pull_request`: runs the operator's command that opens a pull request, outside of the sandbox.
//! The program calls it by itself at the end of a job; no model is offered it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::job::JOB_PULL_REQUEST;
use avocet_protocol::tool::{
    Caution, Description, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use avocet_sandbox::{
    ProgramEnd, ProgramRequest, ProgramRights, ProgramSandbox, ReachedHosts, Workspace,
    WorkspaceRoots,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::files::{ToolFiles, tool_error};
use super::programs::{ENDING, code_block, last_characters, sandbox_error};

/// The timeout of the command.
const LONGEST: Duration = Duration::from_mins(5);
/// Bytes of output that are read.
const MAX_OUTPUT: usize = 256 * 1024;
/// Characters of the output that are kept.
const MOST_OUTPUT: usize = 2000;

#[derive(Debug)]
pub(super) struct JobPullRequest {
    files: ToolFiles,
    outside: Option<Arc<ProgramSandbox>>,
}

impl JobPullRequest {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        let roots: Arc<WorkspaceRoots> = parts.roots.clone();
        let outside = parts.shell.as_ref().map(|shell| shell.outside.clone());
        Self { files: ToolFiles { roots }, outside }
    }

    /// Refuses a repository with untrusted files that decide about programs of git.
    async fn check_repository(&self) -> Result<(), ToolError> {
        let look = |workspace: &Workspace| {
            let root = workspace.resolve_path("").map_err(tool_error)?;
            workspace.find_repository(&root).map_err(tool_error)
        };
        match self.files.look_in_workspace(look).await?.untrusted {
            None => Ok(()),
            Some(path) => Err(ToolError::ExecutionFailed(format!(
                "{path} of this repository is untrusted, and git would run programs that it names: \
                    check it, mark it as trusted with avocet trust --believe, and open the pull \
                    request yourself"
            ))),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct JobPullRequestArguments {
    /// The program and its arguments, from the configuration.
    command: Vec<String>,
}

impl JobPullRequestArguments {
    fn command_text(&self) -> String {
        self.command.join(" ")
    }
}

#[async_trait]
impl Tool for JobPullRequest {
    type Arguments = JobPullRequestArguments;

    fn describe(&self) -> Description {
        let text = "Open a pull request with the branch of a job.";
        let described = Description::new(JOB_PULL_REQUEST, ToolClass::Effect, text);
        Description { time_limit: LONGEST + ENDING, ..described }
    }

    async fn caution(&self, _: &JobPullRequestArguments, _: &ToolContext) -> Caution {
        Caution::EachTime("it runs outside of the sandbox, with your network and files".to_owned())
    }

    async fn execute(
        &self,
        arguments: JobPullRequestArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        if !context.session.is_named_as_job() {
            let text = format!("{JOB_PULL_REQUEST} belongs to jobs");
            return Err(ToolError::PermissionDenied(text));
        }
        let Some(outside) = &self.outside else {
            return Err(ToolError::ExecutionFailed("programs are switched off here".to_owned()));
        };
        self.check_repository().await?;
        let shown = arguments.command_text();
        let request = ProgramRequest {
            program: arguments.command,
            directory: self.files.roots.workspace().root().to_owned(),
            limit: LONGEST,
            output: MAX_OUTPUT,
            cancel: context.cancel.clone(),
            reached: ReachedHosts::default(),
            rights: ProgramRights::Ordinary,
        };
        let ran = outside.run(request).await.map_err(sandbox_error)?;
        let text = ran.output.to_text();
        let output = last_characters(text.trim(), MOST_OUTPUT);
        let why = match ran.ended {
            ProgramEnd::Code(0) => {
                return Ok(json!({ "command": shown, "output": output }).into());
            }
            ProgramEnd::Code(code) => format!("ended with exit code {code}"),
            ProgramEnd::Signal(signal) => format!("was killed by signal {signal}"),
            ProgramEnd::TimedOut => format!("was stopped after {} s", LONGEST.as_secs()),
            ProgramEnd::Cancelled => "was stopped".to_owned(),
        };
        Err(ToolError::ExecutionFailed(format!("`{shown}` {why}: {output}")))
    }

    async fn question(
        &self,
        arguments: &JobPullRequestArguments,
        _: &ToolContext,
    ) -> Option<Question> {
        let command = arguments.command_text();
        let shown = format!(
            "Open a pull request for this job, in its workspace:\n\n{}",
            code_block(&command)
        );
        Some(Question { shown, scope: command, shape: None })
    }
}
