//! The stages of a cell, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    avocet_sandbox::run_stage().unwrap_or(ExitCode::FAILURE)
}
