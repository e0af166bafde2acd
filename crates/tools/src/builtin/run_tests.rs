//! `run_tests`: runs the tests of a project in the sandbox and returns the result as an object.

mod cargo;
mod framework;
mod go;
mod javascript;
mod jest;
mod mocha;
mod node;
mod pytest;
mod report;
mod tap;
mod vitest;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::tool::{
    Caution, Description, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, UndoPlace,
};
use avocet_sandbox::{ProgramRights, SandboxError, SandboxOutput, Workspace, WorkspaceRoots};
use avocet_supervise::run_blocking;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::buffers::EditorBuffers;
use super::program_settings::ProgramSettings;
use super::programs::{
    ENDING, EndedProgram, ProgramError, ProgramExit, ProgramRunner, WantedProgram, code_block,
    last_characters, shown_directory,
};
use framework::{TestCommand, TestFramework};
use report::TestReport;

/// The default timeout of a test run.
const DEFAULT_LIMIT: Duration = Duration::from_mins(5);
/// Bytes of output that are read.
const MAX_OUTPUT: usize = 4 * 1024 * 1024;
/// Bytes from the end of the output that are searched for test results.
const MOST_READ: usize = 512 * 1024;
/// Characters from the end of the output that are returned: after success, and after failure.
const TAIL: (usize, usize) = (500, 3000);

#[derive(Debug)]
pub(super) struct RunTests {
    programs: ProgramRunner,
}

impl RunTests {
    pub(super) fn new(
        roots: Arc<WorkspaceRoots>,
        shell: ProgramSettings,
        buffers: EditorBuffers,
    ) -> Self {
        Self { programs: ProgramRunner::new(roots, shell).with_buffers(buffers) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RunTestsArguments {
    /// Default: the root.
    #[schemars(extend("x-aliases" = ["cwd", "working_dir"]))]
    directory: Option<String>,
    /// Default: by the files of the directory.
    framework: Option<TestFramework>,
    /// Part of the names of tests.
    #[schemars(extend("x-aliases" = ["pattern", "test_name"]))]
    filter: Option<String>,
    /// Seconds. Default: 300.
    #[schemars(range(min = 1, max = 86_400))]
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for RunTests {
    type Arguments = RunTestsArguments;

    fn describe(&self) -> Description {
        let network = match self.programs.shell.opened_hosts() {
            None => "There is no network.".to_owned(),
            Some(hosts) => format!("Of the network there are only these hosts: {hosts}."),
        };
        let text = format!(
            "Run the tests of a project and get each failure with its place and message. {network}"
        );
        let time_limit = self.programs.shell.longest + ENDING;
        Description { time_limit, ..Description::new("run_tests", ToolClass::Effect, text) }
    }

    async fn caution(&self, _: &RunTestsArguments, _: &ToolContext) -> Caution {
        self.programs.shell.caution_by_isolation()
    }

    async fn undo_places(&self, _: &RunTestsArguments, _: &ToolContext) -> Option<Vec<UndoPlace>> {
        self.programs.undo_places()
    }

    async fn execute(
        &self,
        arguments: RunTestsArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = self.plan(&arguments, Some(context)).await?;
        self.programs.check_allowed(plan.framework.program_name())?;
        let directory = self.programs.directory_path(arguments.directory, context).await?;
        let limit = arguments.timeout.map_or(DEFAULT_LIMIT, Duration::from_secs);
        let wanted = WantedProgram {
            program: plan.command.clone(),
            directory: directory.clone(),
            environment: framework::test_environment(),
            limit: limit.min(self.programs.shell.longest),
            output: MAX_OUTPUT,
            rights: ProgramRights::Ordinary,
        };
        let ran = self.programs.run(wanted, context).await;
        let EndedProgram { end, output, notes } = ran.map_err(|error| match error {
            ProgramError::Missing(name) => {
                let missing = SandboxError::NoProgram(name);
                ToolError::ExecutionFailed(format!("{missing}. {}", framework::WHERE_PROGRAMS_ARE))
            }
            ProgramError::Other(error) => error,
        })?;
        let (report, text) = read(plan.framework, output).await?;
        let report = relative_to(&directory, report).limit_failures();
        let (key, number) = end.key_and_number();
        let well = end == ProgramExit::Code(0);
        let mut result = json!({
            "framework": plan.framework,
            "command": plan.quoted_text(),
            key: number,
            "passed": report.passed,
            "failed": report.failed,
            "skipped": report.skipped,
            "failures": report.failures,
            "output_tail": last_characters(text.trim_end(), if well { TAIL.0 } else { TAIL.1 }),
        });
        if !plan.also.is_empty() {
            result["also_here"] = json!(plan.also);
        }
        if let Some(hint) = framework::hint_for_missing(&text).filter(|_| !well) {
            result["hint"] = hint.into();
        }
        if let Some(result) = result.as_object_mut() {
            notes.add_to(result);
        }
        Ok(result.into())
    }

    async fn question(
        &self,
        arguments: &RunTestsArguments,
        _context: &ToolContext,
    ) -> Option<Question> {
        let command = self.plan(arguments, None).await.ok()?.quoted_text();
        let directory = shown_directory(arguments.directory.as_deref());
        let shown = format!("Run tests in {directory}:\n\n{}", code_block(&command));
        Some(Question { shown, scope: format!("{command} in {directory}"), shape: None })
    }
}

impl RunTests {
    /// Chooses the command. Without `context` (for a prompt), trust is unaffected.
    async fn plan(
        &self,
        arguments: &RunTestsArguments,
        context: Option<&ToolContext>,
    ) -> Result<TestCommand, ToolError> {
        let RunTestsArguments { directory, framework, filter, .. } = arguments;
        let (directory, framework, filter) =
            (directory.clone().unwrap_or_default(), *framework, filter.clone());
        let files = self.programs.tool_files();
        let plan = move |workspace: &Workspace| {
            framework::plan_tests(workspace, &directory, framework, filter)
        };
        match context {
            Some(context) => files.run_in_workspace(context, plan).await,
            None => files.look_in_workspace(plan).await,
        }
    }
}

/// Parses the output; also returns the part that was parsed, as plain text. Runs in a blocking
/// thread, because hostile output can make it slow.
async fn read(
    framework: TestFramework,
    output: SandboxOutput,
) -> Result<(TestReport, String), ToolError> {
    let read = run_blocking(move || {
        let text = report::strip_escapes(end_of(&output.to_text()));
        (parse(framework, &text), text)
    });
    read.await.map_err(|panicked| ToolError::ExecutionFailed(panicked.to_string()))
}

/// The last lines of a text, at most `MOST_READ` bytes.
fn end_of(text: &str) -> &str {
    if text.len() <= MOST_READ {
        return text;
    }
    let end = &text[text.ceil_char_boundary(text.len() - MOST_READ)..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

/// Parses any output, complete or cut off.
fn parse(framework: TestFramework, text: &str) -> TestReport {
    match framework {
        TestFramework::Cargo => cargo::parse_cargo(text),
        TestFramework::Go => go::parse_go(text),
        TestFramework::Npm | TestFramework::Pnpm | TestFramework::Yarn => {
            javascript::parse_javascript(text)
        }
        TestFramework::Pytest => pytest::parse_pytest(text),
    }
}

/// Parses a text with every parser, and checks the limits of each report. For fuzzing.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn read_as_tests(text: &str) {
    let parsers = [
        cargo::parse_cargo,
        go::parse_go,
        jest::parse_jest,
        mocha::parse_mocha,
        node::parse_node,
        pytest::parse_pytest,
        tap::parse_tap,
        vitest::parse_vitest,
    ];
    for parse in parsers {
        report::assert_limited(&parse(&report::strip_escapes(text)).limit_failures());
    }
}

/// Makes the report's paths relative to the directory.
fn relative_to(directory: &Path, mut report: TestReport) -> TestReport {
    let files = report.failures.iter_mut().filter_map(|failure| failure.file.as_mut());
    for file in files {
        let path = file.strip_prefix("file://").unwrap_or(file);
        if let Ok(relative) = Path::new(path).strip_prefix(directory) {
            *file = relative.display().to_string();
        }
    }
    report
}

#[cfg(test)]
#[path = "run_tests_tests.rs"]
mod tests;
