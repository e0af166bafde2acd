//! The common parts of the stages of a sandbox: their start, their plan and their reports.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use super::meter::Over;
use super::plan::SandboxPlan;
use super::{exec, init, warden};

/// The first argument of our program when it runs as a stage.
pub(crate) const ARGUMENT: &str = "cell";

/// The path of our own program, which works even after its file was replaced or hidden.
const OURSELVES: &str = "/proc/self/exe";

/// The end of a sandbox, as one line of JSON on the standard error of its stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StageReport {
    /// The program exited with this code.
    Code(i32),
    /// This signal killed the program.
    Signal(i32),
    /// The program was killed because its processes together exceeded this limit.
    Over(Over),
    /// This sandbox layer could not be built, so the program was never started.
    Wall(String),
    /// The program is missing or cannot be run.
    Program(String),
}

/// A failure of a stage.
#[derive(Debug)]
pub(super) struct StageError(pub(super) StageReport);

impl StageError {
    /// Creates the failure of a sandbox layer.
    pub(super) fn wall(what: &str, error: impl std::fmt::Display) -> Self {
        Self(StageReport::Wall(format!("{what}: {error}")))
    }
}

/// Adds the name of the step that failed.
pub(super) trait Walled<T> {
    fn walled(self, what: &str) -> Result<T, StageError>;
}

impl<T, E: std::fmt::Display> Walled<T> for Result<T, E> {
    fn walled(self, what: &str) -> Result<T, StageError> {
        self.map_err(|error| StageError::wall(what, error))
    }
}

/// The later stages, in their order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    Init,
    Exec,
}

impl Stage {
    fn word(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Exec => "exec",
        }
    }

    /// Starts the stage with this plan. The child's standard input is its lifeline.
    pub(super) fn start(self, plan: &str) -> std::io::Result<Child> {
        let child =
            Command::new(OURSELVES).args([ARGUMENT, self.word()]).stdin(Stdio::piped()).spawn()?;
        if let Some(mut leash) = child.stdin.as_ref() {
            leash.write_all(plan.as_bytes())?;
        }
        Ok(child)
    }
}

/// The name of the first stage.
pub(super) const FIRST: &str = "warden";

/// Runs a stage of a sandbox if our program was started as one; otherwise returns `None`. Call this
/// first in `main`, while there is one thread.
#[must_use]
pub fn run_stage() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return None;
    }
    let stage = arguments.next()?;
    let ran = || -> Result<(), StageError> {
        let line = read_plan().walled("the plan")?;
        let plan: SandboxPlan = serde_json::from_str(&line).walled("the plan")?;
        match stage.as_str() {
            FIRST => warden::run(&line, &plan),
            "init" => init::run(&line, &plan),
            "exec" => exec::run(&plan),
            other => {
                Err(StageError::wall("the stage", format_args!("there is no stage {other:?}")))
            }
        }
    };
    Some(match ran() {
        Ok(()) => ExitCode::SUCCESS,
        Err(StageError(report)) => {
            tell(&mut std::io::stderr(), &report);
            ExitCode::FAILURE
        }
    })
}

/// Reads the plan in chunks until one ends with a newline. The lifeline stays silent after that.
fn read_plan() -> std::io::Result<String> {
    let mut leash = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let (mut line, mut buffer) = (Vec::new(), [0_u8; 4096]);
    while line.last() != Some(&b'\n') {
        match leash.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => line.extend_from_slice(&buffer[..read]),
        }
    }
    String::from_utf8(line).map_err(std::io::Error::other)
}

/// Writes a report. Errors are ignored: without a reader the report is useless.
pub(super) fn tell(to: &mut impl Write, report: &StageReport) {
    let mut line = serde_json::to_string(report).unwrap_or_default();
    line.push('\n');
    to.write_all(line.as_bytes()).unwrap_or_default();
}
