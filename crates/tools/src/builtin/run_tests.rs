//! `run_tests`: the tests of a project, run behind walls, and what came of them as an object.

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
use avocet_protocol::{
    Caution, Description, Question, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use avocet_sandbox::{Output, Rights, Roots, Workspace};
use avocet_supervise::blocking;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::programs::{
    Done, ENDING, End, Programs, Shell, Wanted, code_block, last, shown_directory,
};
use framework::{Framework, Plan};
use report::Report;

/// What tests may take where nothing is said about it.
const DEFAULT_LIMIT: Duration = Duration::from_mins(5);
/// Bytes of output that are read.
const MAX_OUTPUT: usize = 4 * 1024 * 1024;
/// Bytes of the end of the output that are looked through for what became of the tests.
const MOST_READ: usize = 512 * 1024;
/// Characters of the end of the output that are told: of a run that went well, and of another.
const TAIL: (usize, usize) = (500, 3000);

#[derive(Debug)]
pub(super) struct RunTests {
    programs: Programs,
}

impl RunTests {
    pub(super) fn new(roots: Arc<Roots>, shell: Shell) -> Self {
        Self { programs: Programs::new(roots, shell) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The directory of the project, relative to the workspace root. Default: the root.
    #[schemars(extend("x-aliases" = ["cwd", "working_dir"]))]
    directory: Option<String>,
    /// What runs the tests. Default: what the files of the directory are for.
    framework: Option<Framework>,
    /// Only tests whose names have this in them, or fit it as the framework understands it.
    #[schemars(extend("x-aliases" = ["pattern", "test_name"]))]
    filter: Option<String>,
    /// Seconds after which they are killed. Default: 300.
    #[schemars(range(min = 1, max = 86_400))]
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for RunTests {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        let network = match self.programs.shell.hosts() {
            None => "There is no network: dependencies have to be there.".to_owned(),
            Some(hosts) => format!(
                "Of the network there are these hosts: {hosts}; what they do not have has to be there."
            ),
        };
        let text = format!(
            "Run the tests of a project (cargo, go, npm, pnpm, yarn, pytest) and get how many passed, \
             and of each failure its place and message; errors of the compiler are among them. \
             {network}"
        );
        let time_limit = self.programs.shell.longest + ENDING;
        Description { time_limit, ..Description::new("run_tests", ToolClass::Effect, text) }
    }

    async fn caution(&self, _: &Arguments, _: &ToolContext) -> Caution {
        self.programs.shell.caution()
    }

    async fn execute(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = self.plan(&arguments, Some(context)).await?;
        self.programs.check_allowed(plan.framework.program())?;
        let directory = self.programs.directory(arguments.directory, context).await?;
        let limit = arguments.timeout.map_or(DEFAULT_LIMIT, Duration::from_secs);
        let wanted = Wanted {
            program: plan.command.clone(),
            directory: directory.clone(),
            environment: framework::environment(),
            limit: limit.min(self.programs.shell.longest),
            output: MAX_OUTPUT,
            rights: Rights::Ordinary,
        };
        let ran = self.programs.run(wanted, context).await;
        let Done { end, output, notes } = ran.map_err(|error| match error {
            ToolError::ExecutionFailed(why) if why.contains("there is no program") => {
                ToolError::ExecutionFailed(format!("{why}. {}", framework::WHERE_PROGRAMS_ARE))
            }
            error => error,
        })?;
        let (report, text) = read(plan.framework, output).await?;
        let report = relative_to(&directory, report).told();
        let (key, number) = end.named();
        let well = end == End::Code(0);
        let mut result = json!({
            "framework": plan.framework,
            "command": plan.shown(),
            key: number,
            "passed": report.passed,
            "failed": report.failed,
            "skipped": report.skipped,
            "failures": report.failures,
            "output_tail": last(text.trim_end(), if well { TAIL.0 } else { TAIL.1 }),
        });
        if !plan.also.is_empty() {
            result["also_here"] = json!(plan.also);
        }
        if let Some(hint) = framework::hint(&text).filter(|_| !well) {
            result["hint"] = hint.into();
        }
        if let Some(result) = result.as_object_mut() {
            notes.add_to(result);
        }
        Ok(result.into())
    }

    async fn question(&self, arguments: &Arguments, _context: &ToolContext) -> Option<Question> {
        let command = self.plan(arguments, None).await.ok()?.shown();
        let directory = shown_directory(arguments.directory.as_deref());
        let shown = format!("Run tests in {directory}:\n\n{}", code_block(&command));
        Some(Question { shown, scope: format!("{command} in {directory}") })
    }
}

impl RunTests {
    /// What is to be run; without a context, for a person.
    async fn plan(
        &self,
        arguments: &Arguments,
        context: Option<&ToolContext>,
    ) -> Result<Plan, ToolError> {
        let Arguments { directory, framework, filter, .. } = arguments;
        let (directory, framework, filter) =
            (directory.clone().unwrap_or_default(), *framework, filter.clone());
        let files = self.programs.files();
        let plan =
            move |workspace: &Workspace| framework::plan(workspace, &directory, framework, filter);
        match context {
            Some(context) => files.with(context, plan).await,
            None => files.look(plan).await,
        }
    }
}

/// What an output says, and its end as it was read: off the threads that others wait for, because it may
/// be made to take its time.
async fn read(framework: Framework, output: Output) -> Result<(Report, String), ToolError> {
    let read = blocking(move || {
        let text = report::plain(end_of(&output.text()));
        (parse(framework, &text), text)
    });
    read.await.map_err(|panicked| ToolError::ExecutionFailed(panicked.to_string()))
}

/// The last lines of a text, as far as they are read.
fn end_of(text: &str) -> &str {
    if text.len() <= MOST_READ {
        return text;
    }
    let end = &text[text.ceil_char_boundary(text.len() - MOST_READ)..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

/// What an output says; whatever it is, and wherever it breaks off.
fn parse(framework: Framework, text: &str) -> Report {
    match framework {
        Framework::Cargo => cargo::parse(text),
        Framework::Go => go::parse(text),
        Framework::Npm | Framework::Pnpm | Framework::Yarn => javascript::parse(text),
        Framework::Pytest => pytest::parse(text),
    }
}

/// Reads a text as every runner's, and holds what is told of it to its limits.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn read_as_tests(text: &str) {
    let parsers = [
        cargo::parse,
        go::parse,
        jest::parse,
        mocha::parse,
        node::parse,
        pytest::parse,
        tap::parse,
        vitest::parse,
    ];
    for parse in parsers {
        report::hold(&parse(&report::plain(text)).told());
    }
}

/// The report with files as they are named below the directory.
fn relative_to(directory: &Path, mut report: Report) -> Report {
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
