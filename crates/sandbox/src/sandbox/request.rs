//! The request to run a program in a sandbox, and its result.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::network::ReachedHosts;
use super::output::SandboxOutput;
use super::plan::ProgramRights;

/// A program to run in a sandbox.
#[derive(Debug, Clone)]
pub struct ProgramRequest {
    /// The program, found in `PATH`, and its arguments.
    pub program: Vec<String>,
    /// The working directory, below a visible path.
    pub directory: PathBuf,
    /// The timeout.
    pub limit: Duration,
    /// Bytes of the output that are kept.
    pub output: usize,
    /// Cancels the run.
    pub cancel: CancellationToken,
    /// Collects the hosts that the program reaches, while it runs.
    pub reached: ReachedHosts,
    /// Its rights beyond those of all programs.
    pub rights: ProgramRights,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramResult {
    /// A timeout or a cancellation counts before the report of the stages.
    pub ended: ProgramEnd,
    /// The printed output.
    pub output: SandboxOutput,
    /// The hosts that the program has reached.
    pub reached: Vec<String>,
}

/// The way in which a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEnd {
    /// The program exited with this code.
    Code(i32),
    /// This signal killed the program.
    Signal(i32),
    /// It was killed at the `limit` of the request.
    TimedOut,
    /// It was killed because `cancel` of the request fired.
    Cancelled,
}

/// The reason why a program failed to start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The kernel refuses a sandbox layer; a matter for the operator.
    #[error(
        "a sandbox layer could not be set up ({0}); `avocet doctor` shows which layers this system \
            has"
    )]
    Layer(String),
    /// The sandbox does not show a program of this name; a matter for the requester.
    #[error("there is no program {0} here")]
    NoProgram(String),
    /// The program cannot be run; a matter for the requester.
    #[error("{0}")]
    Program(String),
    /// The system failed to start a process; a matter for the operator.
    #[error("no process could be started: {0}")]
    Start(String),
}
