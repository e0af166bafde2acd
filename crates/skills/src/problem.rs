//! Problems of a `SKILL.md`, with their lines.

use std::fmt;

use serde::Serialize;

/// A problem, and the line at which it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct SkillProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem and its correction.
    pub text: String,
}

impl SkillProblem {
    pub(crate) fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }
}

impl fmt::Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}
