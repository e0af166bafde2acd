//! The helper binary that runs the stages of the sandbox.

use std::process::ExitCode;

fn main() -> ExitCode {
    avocet_sandbox::run_stage().unwrap_or(ExitCode::FAILURE)
}
