//! Unified diffs, of several files, with git's headers: read, and applied to the text of a file. No I/O.

mod apply;
mod parse;

pub(crate) use apply::apply;
pub(crate) use parse::parse;

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    pub(crate) change: Change,
    pub(crate) hunks: Vec<Hunk>,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is made.
    Create(String),
    /// It is removed.
    Delete(String),
    /// Its content changes.
    Modify(String),
    /// It gets another name, and its content may change.
    Rename { from: String, to: String },
}

/// Lines that change, with those around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Its line in the patch, from 1.
    pub(crate) at: usize,
    /// Where it begins in the old file, from 1; 0 where that has no lines.
    pub(crate) start: usize,
    pub(crate) lines: Vec<Line>,
    /// Whether the last line of the old file, and of the new, does not end.
    pub(crate) is_open: (bool, bool),
}

/// A line of a hunk, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Context(String),
    Removed(String),
    Added(String),
}

impl Change {
    /// The file as it is named before.
    pub(crate) fn old(&self) -> Option<&str> {
        match self {
            Self::Create(_) => None,
            Self::Delete(path) | Self::Modify(path) | Self::Rename { from: path, .. } => Some(path),
        }
    }

    /// The file as it is named afterwards.
    pub(crate) fn new_path(&self) -> Option<&str> {
        match self {
            Self::Delete(_) => None,
            Self::Create(path) | Self::Modify(path) | Self::Rename { to: path, .. } => Some(path),
        }
    }
}

impl Hunk {
    /// What has to stand in the old file.
    pub(crate) fn old(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Removed(text) => Some(text.as_str()),
            Line::Added(_) => None,
        })
    }

    /// What stands there afterwards.
    pub(crate) fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Added(text) => Some(text.as_str()),
            Line::Removed(_) => None,
        })
    }
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
