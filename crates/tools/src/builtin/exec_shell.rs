//! `exec_shell`: runs a shell command in the sandbox.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Leaving, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    UndoPlace,
};
use avocet_sandbox::{GitPlace, Isolation, ProgramRights, WorkspaceRoots};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::background::BackgroundTask;
use super::buffers::EditorBuffers;
use super::files::tool_error;
use super::program_settings::ProgramSettings;
use super::programs::{
    ENDING, EndedProgram, ProgramRunner, WantedProgram, code_block, shown_directory,
};
use crate::command_precheck;
use crate::command_shape::shape_of_command;
use crate::only_git::only_git;

const DEFAULT_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of output that are kept: fewer than the size at which a result is truncated.
const MAX_OUTPUT: usize = 48 * 1024;

#[derive(Debug)]
pub(super) struct ExecShell {
    programs: ProgramRunner,
}

impl ExecShell {
    pub(super) fn new(
        roots: Arc<WorkspaceRoots>,
        shell: ProgramSettings,
        buffers: EditorBuffers,
    ) -> Self {
        Self { programs: ProgramRunner::new(roots, shell).with_buffers(buffers) }
    }

    /// The rights of a command. A command that consists only of git calls may change the
    /// repositories in which it runs, provided that they are trusted.
    async fn rights_of_command(&self, command: &str, working_dir: Option<&str>) -> ProgramRights {
        let Some(called) = only_git(command) else { return ProgramRights::Ordinary };
        let working_dir = working_dir.unwrap_or_default().to_owned();
        let places = self.programs.tool_files().look_in_workspace(move |workspace| {
            let places = called.iter().map(|directory| {
                let below = Path::new(&working_dir).join(directory).display().to_string();
                let path = workspace.resolve_path(&below).map_err(tool_error)?;
                workspace.find_repository(&path).map_err(tool_error)
            });
            places.collect::<Result<Vec<_>, ToolError>>()
        });
        // If the lookup fails, git gets the rights of an ordinary program.
        let places = places.await.unwrap_or_default();
        if places.is_empty() || places.iter().any(|repository| repository.untrusted.is_some()) {
            return ProgramRights::Ordinary;
        }
        let places = places.into_iter().filter_map(|repository| repository.place);
        ProgramRights::Git(places.filter(GitPlace::is_text).collect())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ExecShellArguments {
    command: String,
    /// Default: the root.
    #[schemars(extend("x-rare" = true))]
    working_dir: Option<String>,
    /// Seconds. Default: 30.
    #[schemars(range(min = 1, max = 86_400), extend("x-rare" = true))]
    timeout: Option<u64>,
    #[schemars(extend("x-loads" = "process", "x-aliases" = ["run_in_background"]))]
    background: Option<bool>,
}

#[async_trait]
impl Tool for ExecShell {
    type Arguments = ExecShellArguments;

    fn describe(&self) -> Description {
        let shell = &self.programs.shell;
        let reach = match (shell.sandbox.isolation, shell.opened_hosts()) {
            (Isolation::Namespaces | Isolation::Landlock, None) => {
                "sandboxed, without network".to_owned()
            }
            (Isolation::Namespaces | Isolation::Landlock, Some(hosts)) => format!(
                "sandboxed; its proxy reaches by http and https only {hosts}, whose content is \
                    untrusted"
            ),
            (Isolation::LimitsOnly, _) => {
                "without a sandbox: it can reach whatever the user can, so stay in the workspace"
                    .to_owned()
            }
        };
        let text =
            format!("Run sh -c in the workspace, {reach}. 30 s at most; background for longer.");
        let time_limit = self.programs.shell.longest + ENDING;
        Description {
            time_limit,
            ..Description::new("exec_shell", ToolClass::Effect, text).in_group("process")
        }
    }

    async fn caution(&self, _: &ExecShellArguments, _: &ToolContext) -> Caution {
        self.programs.shell.caution_by_isolation()
    }

    async fn execute(
        &self,
        arguments: ExecShellArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let ExecShellArguments { command, working_dir, timeout, background } = arguments;
        let ProgramSettings { sandbox, longest, commands, background: programs, .. } =
            &self.programs.shell;
        command_precheck::check_script(&command, commands).map_err(ToolError::PermissionDenied)?;
        let rights = self.rights_of_command(&command, working_dir.as_deref()).await;
        let directory = self.programs.directory_path(working_dir, context).await?;
        let program = ["/bin/sh", "-c", &command].map(str::to_owned).to_vec();
        let limit = timeout.map(Duration::from_secs);
        if background.unwrap_or(false) {
            let watched = self.programs.watch_program(&rights, context).await?;
            let sandbox = sandbox.clone();
            let task =
                BackgroundTask { sandbox, command, program, directory, limit, watched, rights };
            return Ok(programs.start(task, &context.session)?.into());
        }
        let wanted = WantedProgram {
            program,
            directory,
            environment: Vec::new(),
            limit: limit.unwrap_or(DEFAULT_LIMIT).min(*longest),
            output: MAX_OUTPUT,
            rights,
        };
        let EndedProgram { end, output, notes } = self.programs.run(wanted, context).await?;
        let (end, number) = end.key_and_number();
        let mut result = Map::new();
        result.insert(end.to_owned(), number.into());
        result.insert("output".to_owned(), output.to_text().into());
        notes.add_to(&mut result);
        Ok(Value::Object(result).into())
    }

    async fn undo_places(
        &self,
        arguments: &ExecShellArguments,
        _: &ToolContext,
    ) -> Option<Vec<UndoPlace>> {
        // A program in the background may change files after the end of the turn.
        if arguments.background.unwrap_or(false) { None } else { self.programs.undo_places() }
    }

    fn leaving(&self, arguments: &ExecShellArguments) -> Vec<Leaving> {
        let leaves = self.programs.shell.opened_hosts().is_some();
        leaves.then(|| Leaving::Data(arguments.command.clone())).into_iter().collect()
    }

    async fn question(
        &self,
        arguments: &ExecShellArguments,
        _context: &ToolContext,
    ) -> Option<Question> {
        let ExecShellArguments { command, working_dir, background, .. } = arguments;
        let directory = shown_directory(working_dir.as_deref());
        let how = if background.unwrap_or(false) { " in the background" } else { "" };
        let shown = format!("Run this command{how}, in {directory}:\n\n{}", code_block(command));
        let in_directory = match working_dir {
            None => String::new(),
            Some(_) => format!(", in {directory}"),
        };
        let scope = format!("{command}{how}{in_directory}");
        // In the background, a program can outlive the approval.
        let stays = self.programs.shell.keeps_programs_inside() && !background.unwrap_or(false);
        let shape = shape_of_command(command).filter(|_| stays);
        let shape = shape.map(|shape| format!("{shape}{in_directory}"));
        Some(Question { shown, scope, shape })
    }
}
