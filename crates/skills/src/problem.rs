//! Problems of a `SKILL.md`, with their lines.

use std::fmt;

use serde::Serialize;

/// A problem, and the line at which it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct SkillProblem {
    /// The line, counted from 1; 0 if the problem is the folder's.
    #[serde(skip_serializing_if = "is_of_folder")]
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
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "line {line}: {}", self.text),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "made for serde")]
fn is_of_folder(line: &usize) -> bool {
    *line == 0
}
