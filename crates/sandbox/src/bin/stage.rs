//! A program that only runs the stages of a sandbox, for tests and benchmarks.

use std::process::ExitCode;

fn main() -> ExitCode {
    avocet_sandbox::run_stage().unwrap_or(ExitCode::FAILURE)
}
