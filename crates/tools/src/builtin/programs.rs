//! Code shared by the tools that run programs in the sandbox: output, timeout, working directory
//! and approval prompts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::access::Trust;
use avocet_protocol::tool::{ToolContext, ToolError, UndoPlace};
use avocet_sandbox::{
    Isolation, ProgramEnd, ProgramRequest, ProgramRights, ProgramSandbox, SandboxError,
    SandboxOutput, Workspace, WorkspaceRoots,
};
use avocet_text::escape_invisible;

use super::buffers::EditorBuffers;
use super::files::{ToolFiles, tool_error};
use super::live_output::LiveOutput;
use super::program_settings::ProgramSettings;
use super::watched::{ProgramNotes, ProgramWatch, refused_paths};
use crate::command_precheck;

/// Characters kept from the end of the output after a timeout.
const LAST_WORDS: usize = 2000;
/// Extra time to kill everything in the sandbox, beyond the program's own timeout.
pub(super) const ENDING: Duration = Duration::from_secs(10);

/// Runs programs in a workspace.
#[derive(Debug, Clone)]
pub(super) struct ProgramRunner {
    files: ToolFiles,
    pub(super) shell: ProgramSettings,
    /// The editors that show the output of running programs.
    buffers: EditorBuffers,
}

#[derive(Debug)]
pub(super) struct WantedProgram {
    /// The program's name and its arguments.
    pub(super) program: Vec<String>,
    pub(super) directory: PathBuf,
    /// Extra environment variables.
    pub(super) environment: Vec<(String, String)>,
    pub(super) limit: Duration,
    /// Bytes of output that are kept.
    pub(super) output: usize,
    /// Rights beyond those of ordinary programs.
    pub(super) rights: ProgramRights,
}

/// A program that ended by itself.
#[derive(Debug)]
pub(super) struct EndedProgram {
    pub(super) end: ProgramExit,
    pub(super) output: SandboxOutput,
    pub(super) notes: ProgramNotes,
}

/// The end of a program that was neither cancelled nor timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramExit {
    Code(i32),
    Signal(i32),
}

/// The reason why a program gave no result.
#[derive(Debug)]
pub(super) enum ProgramError {
    /// The sandbox does not show a program of this name.
    Missing(String),
    Other(ToolError),
}

impl From<ToolError> for ProgramError {
    fn from(error: ToolError) -> Self {
        Self::Other(error)
    }
}

impl From<ProgramError> for ToolError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Missing(name) => sandbox_error(SandboxError::NoProgram(name)),
            ProgramError::Other(error) => error,
        }
    }
}

impl ProgramExit {
    /// The key and the number for a result.
    pub(super) fn key_and_number(self) -> (&'static str, i32) {
        match self {
            Self::Code(code) => ("exit_code", code),
            Self::Signal(signal) => ("killed_by_signal", signal),
        }
    }
}

impl ProgramRunner {
    pub(super) fn new(roots: Arc<WorkspaceRoots>, shell: ProgramSettings) -> Self {
        Self { files: ToolFiles { roots }, shell, buffers: EditorBuffers::default() }
    }

    /// Returns the same with editors that show the output of running programs.
    pub(super) fn with_buffers(self, buffers: EditorBuffers) -> Self {
        Self { buffers, ..self }
    }

    /// The absolute path of a directory of the workspace.
    pub(super) async fn directory_path(
        &self,
        given: Option<String>,
        context: &ToolContext,
    ) -> Result<PathBuf, ToolError> {
        let directory = self.files.run_in_workspace(context, move |workspace| {
            let path = workspace.resolve_path(&given.unwrap_or_default()).map_err(tool_error)?;
            workspace.examine_apart().list_entries(&path).map_err(tool_error)?;
            Ok(workspace.root().join(path.to_string()))
        });
        directory.await
    }

    pub(super) fn tool_files(&self) -> &ToolFiles {
        &self.files
    }

    pub(super) fn workspace_root(&self) -> &Path {
        self.files.roots.workspace().root()
    }

    pub(super) async fn run(
        &self,
        wanted: WantedProgram,
        context: &ToolContext,
    ) -> Result<EndedProgram, ProgramError> {
        let WantedProgram { program, directory, environment, limit, output, rights } = wanted;
        let mut sandbox = self.sandbox_for(context.trust);
        sandbox.environment.extend(environment);
        let cancel = context.cancel.clone();
        // Watch the program until all its processes have ended.
        let watched = self.watch_program(&rights, context).await?;
        let (reached, read_only) = (watched.reached_hosts(), watched.read_only());
        let request = ProgramRequest { program, directory, limit, output, cancel, reached, rights };
        let live = self.buffers.live_output(context);
        let show = |bytes: &[u8]| live.iter().for_each(|live| live.add_bytes(bytes));
        let ran = sandbox.run_with_output(request, show).await;
        live.iter().for_each(LiveOutput::show_rest);
        if let Ok(ran) = &ran {
            watched.note_output(&ran.output);
        }
        let (read, aside) = watched.settle_changes().await;
        // Before the error return: an error text may contain data that the program read.
        context.read.lower_to(read);
        let ran = match ran {
            Ok(ran) => ran,
            Err(SandboxError::NoProgram(name)) => return Err(ProgramError::Missing(name)),
            Err(error) => return Err(sandbox_error(error).into()),
        };
        let end = match ran.ended {
            ProgramEnd::Code(code) => ProgramExit::Code(code),
            ProgramEnd::Signal(signal) => ProgramExit::Signal(signal),
            ProgramEnd::TimedOut => return Err(timed_out(limit, &ran.output).into()),
            ProgramEnd::Cancelled => {
                return Err(ToolError::ExecutionFailed("the command was stopped".to_owned()).into());
            }
        };
        let read_only = refused_paths(&ran.output.to_text(), read_only);
        let notes = ProgramNotes { reached: ran.reached, aside, read_only };
        Ok(EndedProgram { end, output: ran.output, notes })
    }

    /// Returns the places that a program can change: all that the sandbox lets it write. `None` if the
    /// program can do more, because the sandbox is not whole or has a network.
    pub(super) fn undo_places(&self) -> Option<Vec<UndoPlace>> {
        let sandbox = &self.shell.sandbox;
        let is_closed =
            sandbox.isolation == Isolation::Namespaces && sandbox.opened_hosts().is_none();
        if !is_closed || !self.files.roots.workspace().keeps_marks() {
            return None;
        }
        let whole = |root: &PathBuf| UndoPlace {
            root: root.clone(),
            paths: Vec::new(),
            trees: vec![PathBuf::new()],
        };
        Some(sandbox.writable.iter().filter(|root| root.is_dir()).map(whole).collect())
    }

    /// Returns the sandbox for a program after text of this trust.
    fn sandbox_for(&self, trust: Trust) -> ProgramSandbox {
        let mut sandbox = ProgramSandbox::clone(&self.shell.sandbox);
        if trust < Trust::Full {
            sandbox.protection = Arc::new(sandbox.protection.with_instruction_files());
        }
        sandbox
    }

    /// Begins to watch a program. Call it before the program starts.
    pub(super) async fn watch_program(
        &self,
        rights: &ProgramRights,
        context: &ToolContext,
    ) -> Result<ProgramWatch, ToolError> {
        let (sandbox, rights) = (self.sandbox_for(context.trust), rights.clone());
        let watch =
            move |workspace: &Workspace| Ok(ProgramWatch::new(&sandbox, &rights, workspace));
        self.files.run_in_workspace(context, watch).await
    }

    /// Rejects a program that is missing from the operator's list.
    pub(super) fn check_allowed(&self, program: &str) -> Result<(), ToolError> {
        let allowed = command_precheck::check_allowed(program, &self.shell.commands);
        allowed.map_err(ToolError::PermissionDenied)
    }
}

fn timed_out(limit: Duration, output: &SandboxOutput) -> ToolError {
    let seconds = limit.as_secs();
    match last_characters(&output.to_text(), LAST_WORDS).trim() {
        "" => ToolError::Timeout(seconds),
        output => ToolError::TimedOut { seconds, output: output.to_owned() },
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(super) fn sandbox_error(error: SandboxError) -> ToolError {
    match error {
        SandboxError::Layer(_) => ToolError::PermissionDenied(error.to_string()),
        SandboxError::NoProgram(_) | SandboxError::Program(_) | SandboxError::Start(_) => {
            ToolError::ExecutionFailed(error.to_string())
        }
    }
}

pub(super) fn last_characters(text: &str, characters: usize) -> &str {
    let from = text.char_indices().rev().nth(characters.saturating_sub(1));
    from.map_or(text, |(at, _)| &text[at..])
}

/// Puts a text into a code block that the text cannot close. Invisible characters are escaped.
pub(super) fn code_block(text: &str) -> String {
    let text = escape_invisible(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{text}\n{fence}")
}

/// A directory of the workspace, for an approval prompt.
pub(super) fn shown_directory(given: Option<&str>) -> String {
    match given {
        None | Some("" | ".") => "the root of the workspace".to_owned(),
        Some(directory) => format!("{directory:?} of the workspace"),
    }
}

#[cfg(test)]
#[path = "programs_tests.rs"]
pub(super) mod tests;
