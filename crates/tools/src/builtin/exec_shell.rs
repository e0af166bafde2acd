//! `exec_shell`: a shell command behind walls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_sandbox::{Behind, Cell, CellError, Ended, Order, Workspace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files::{Files, tool_error};
use crate::courtesy;

/// What a command may take that says nothing about it.
const DEFAULT_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of its output that are kept: less than what is cut.
const MAX_OUTPUT: usize = 48 * 1024;
/// What the end of everything in a cell takes at most, beside the time of its program.
const ENDING: Duration = Duration::from_secs(10);

/// The shell, as the operator has it.
#[derive(Debug, Clone)]
pub struct Shell {
    /// Where commands run.
    pub cell: Arc<Cell>,
    /// What they are behind.
    pub walls: Behind,
    /// The longest that a command may take.
    pub longest: Duration,
    /// The programs that may be called, `*` for any characters; empty for all.
    pub commands: Vec<String>,
}

#[derive(Debug)]
pub(super) struct ExecShell {
    files: Files,
    shell: Shell,
}

impl ExecShell {
    pub(super) fn new(workspace: Arc<Workspace>, shell: Shell) -> Self {
        Self { files: Files { workspace }, shell }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The command, as for sh -c: pipes, redirections and several lines are fine.
    command: String,
    /// The directory in which it runs, relative to the workspace root. Default: the root.
    working_dir: Option<String>,
    /// Seconds after which it is killed. Default: 30.
    #[schemars(range(min = 1, max = 86_400))]
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for ExecShell {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        const WALLED: &str = "Run a shell command in the workspace and get its exit code and output \
            (standard output and standard error together). It sees the workspace and the system's \
            programs, nothing else, and has no network; nobody can type into it, and what it leaves \
            running is killed. To read, write or search files, use the file tools.";
        const OPEN: &str = "Run a shell command in the workspace and get its exit code and output \
            (standard output and standard error together). There are no walls here: it can reach \
            whatever the user can, so stay in the workspace; nobody can type into it, and what it \
            leaves running is killed. To read, write or search files, use the file tools.";
        let text = match self.shell.walls {
            Behind::Namespaces | Behind::Landlock => WALLED,
            Behind::Nothing => OPEN,
        };
        let time_limit = self.shell.longest + ENDING;
        Description { time_limit, ..Description::new("exec_shell", ToolClass::Effect, text) }
    }

    async fn execute(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let Arguments { command, working_dir, timeout } = arguments;
        courtesy::check(&command, &self.shell.commands).map_err(ToolError::PermissionDenied)?;
        let limit = timeout.map_or(DEFAULT_LIMIT, Duration::from_secs).min(self.shell.longest);
        let directory = self.files.with(move |workspace| {
            let path = workspace.resolve(&working_dir.unwrap_or_default()).map_err(tool_error)?;
            workspace.list(&path).map_err(tool_error)?;
            Ok(workspace.root().join(path.to_string()))
        });
        let order = Order {
            program: ["/bin/sh", "-c", &command].map(str::to_owned).to_vec(),
            directory: directory.await?,
            limit,
            output: MAX_OUTPUT,
            cancel: context.cancel.clone(),
        };
        let ran = self.shell.cell.run(order).await.map_err(|error| match error {
            CellError::Wall(_) => ToolError::PermissionDenied(error.to_string()),
            CellError::Program(_) | CellError::Start(_) => {
                ToolError::ExecutionFailed(error.to_string())
            }
        })?;
        let output = ran.output.text();
        let result = match ran.ended {
            Ended::Code(code) => json!({ "exit_code": code, "output": output }),
            Ended::Signal(signal) => json!({ "killed_by_signal": signal, "output": output }),
            Ended::TimedOut => return Err(ToolError::Timeout(limit.as_secs())),
            Ended::Cancelled => {
                return Err(ToolError::ExecutionFailed("the command was stopped".to_owned()));
            }
        };
        Ok(result.into())
    }
}
