//! What the stages of a cell have in common: how they are called, get their plan, and report.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use super::meter::Over;
use super::plan::Plan;
use super::{exec, init, warden};

/// The first argument of our program when it is a stage of a cell.
pub(crate) const ARGUMENT: &str = "cell";

/// Our own program, also after its file was replaced or is out of sight.
const OURSELVES: &str = "/proc/self/exe";

/// How a cell ended, in one line of JSON on the standard error of its stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The program ended by itself.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It was killed, because its processes together exceeded this limit.
    Over(Over),
    /// It was never started: this wall could not be built.
    Wall(String),
    /// It was never started: there is no such program, or it cannot be run.
    Program(String),
}

/// What a stage could not do.
#[derive(Debug)]
pub(super) struct Fault(pub(super) Report);

impl Fault {
    /// A wall that could not be built.
    pub(super) fn wall(what: &str, error: impl std::fmt::Display) -> Self {
        Self(Report::Wall(format!("{what}: {error}")))
    }
}

/// Names what could not be done.
pub(super) trait Walled<T> {
    fn walled(self, what: &str) -> Result<T, Fault>;
}

impl<T, E: std::fmt::Display> Walled<T> for Result<T, E> {
    fn walled(self, what: &str) -> Result<T, Fault> {
        self.map_err(|error| Fault::wall(what, error))
    }
}

/// The stages, in their order.
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

    /// Starts the stage with this plan. Its leash is the child's standard input.
    pub(super) fn start(self, plan: &str) -> std::io::Result<Child> {
        let child =
            Command::new(OURSELVES).args([ARGUMENT, self.word()]).stdin(Stdio::piped()).spawn()?;
        if let Some(mut leash) = child.stdin.as_ref() {
            leash.write_all(plan.as_bytes())?;
        }
        Ok(child)
    }
}

/// The word of the stage with which a cell begins.
pub(super) const FIRST: &str = "warden";

/// Runs a stage of a cell, if that is what our program was called for: the first thing in `main`, while
/// there is one thread.
#[must_use]
pub fn run_stage() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return None;
    }
    let stage = arguments.next()?;
    let ran = || -> Result<(), Fault> {
        let line = read_plan().walled("the plan")?;
        let plan: Plan = serde_json::from_str(&line).walled("the plan")?;
        match stage.as_str() {
            FIRST => warden::run(&line, &plan),
            "init" => init::run(&line, &plan),
            "exec" => exec::run(&plan),
            other => Err(Fault::wall("the stage", format_args!("there is no stage {other:?}"))),
        }
    };
    Some(match ran() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Fault(report)) => {
            tell(&mut std::io::stderr(), &report);
            ExitCode::FAILURE
        }
    })
}

/// One line, byte by byte: nothing behind it is taken from the leash.
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

/// Reports. Whoever should read it may be gone: then it does not matter any more.
pub(super) fn tell(to: &mut impl Write, report: &Report) {
    let mut line = serde_json::to_string(report).unwrap_or_default();
    line.push('\n');
    to.write_all(line.as_bytes()).unwrap_or_default();
}
