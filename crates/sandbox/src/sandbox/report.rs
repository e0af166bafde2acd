//! The reports and errors of the stages of a sandbox.

use std::fmt::Display;
use std::io::Write;

use avocet_protocol::ignore_result;
use serde::{Deserialize, Serialize};

/// The end of a sandbox, as one line of JSON on the standard error of its stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StageReport {
    /// The program exited with this code.
    Code(i32),
    /// This signal killed the program.
    Signal(i32),
    /// The program was killed because its processes together exceeded this limit.
    Exceeded(SharedLimit),
    /// This sandbox layer could not be built, so the program was never started.
    Layer(String),
    /// The sandbox does not show a program of this name.
    NoProgram(String),
    /// The program cannot be run.
    Program(String),
}

/// A limit for all processes of a sandbox together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SharedLimit {
    Memory,
    Disk,
}

impl StageReport {
    /// Writes the line.
    pub(super) fn write_to(&self, to: &mut impl Write) {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        ignore_result(to.write_all(line.as_bytes()), "without a reader the report is useless");
    }
}

/// A failure of a stage.
#[derive(Debug)]
pub(super) struct StageError(pub(super) StageReport);

impl StageError {
    /// Creates the failure of a sandbox layer.
    pub(super) fn from_layer(step: &str, error: impl Display) -> Self {
        Self(StageReport::Layer(format!("{step}: {error}")))
    }
}

/// Adds the name of the step that failed.
pub(super) trait StageContext<T> {
    fn context(self, step: &str) -> Result<T, StageError>;
}

impl<T, E: Display> StageContext<T> for Result<T, E> {
    fn context(self, step: &str) -> Result<T, StageError> {
        self.map_err(|error| StageError::from_layer(step, error))
    }
}
