//! The entry point of all stages.

use std::process::ExitCode;

use super::plan::SandboxPlan;
use super::report::{StageContext, StageError};
use super::stage::{ARGUMENT, SandboxStage, read_plan};
use super::{exec, init, supervisor};

/// Runs a stage of a sandbox if our program was started as one; otherwise returns `None`. Call this
/// first in `main`, while there is one thread.
#[must_use]
pub fn run_stage() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return None;
    }
    let name = arguments.next()?;
    Some(match run(&name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(StageError(report)) => {
            report.write_to(&mut std::io::stderr());
            ExitCode::FAILURE
        }
    })
}

fn run(name: &str) -> Result<(), StageError> {
    let line = read_plan().context("the plan")?;
    let plan: SandboxPlan = serde_json::from_str(&line).context("the plan")?;
    match SandboxStage::from_name(name) {
        Some(SandboxStage::Supervisor) => supervisor::run(&line, &plan),
        Some(SandboxStage::Init) => init::run(&line, &plan),
        Some(SandboxStage::Exec) => exec::run(&plan),
        None => {
            Err(StageError::from_layer("the stage", format_args!("there is no stage {name:?}")))
        }
    }
}
