//! Parses unified diffs of several files, with git's headers, and applies them. Does no I/O.

mod apply;
mod parse;

pub(crate) use apply::apply_hunks;
pub(crate) use parse::parse_patch;

/// The changes of a patch to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    pub(crate) change: FileChange,
    pub(crate) hunks: Vec<PatchHunk>,
}

/// The kind of change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// The file is created.
    Create(String),
    Delete(String),
    /// The content changes.
    Modify(String),
    /// The file is renamed; its content may change, too.
    Rename {
        from: String,
        to: String,
    },
}

/// Changed lines with the context around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchHunk {
    /// The hunk's line in the patch, counted from 1.
    pub(crate) at: usize,
    /// The first line in the old file, counted from 1; 0 if the hunk has no old lines.
    pub(crate) start: usize,
    pub(crate) lines: Vec<PatchLine>,
    /// `true` if the last line of the old, or the new, file lacks a line end.
    pub(crate) is_open: (bool, bool),
}

/// A line of a hunk, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchLine {
    Context(String),
    Removed(String),
    Added(String),
}

impl FileChange {
    pub(crate) fn old_path(&self) -> Option<&str> {
        match self {
            Self::Create(_) => None,
            Self::Delete(path) | Self::Modify(path) | Self::Rename { from: path, .. } => Some(path),
        }
    }

    pub(crate) fn new_path(&self) -> Option<&str> {
        match self {
            Self::Delete(_) => None,
            Self::Create(path) | Self::Modify(path) | Self::Rename { to: path, .. } => Some(path),
        }
    }
}

impl PatchHunk {
    /// The hunk's lines in the old file.
    pub(crate) fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            PatchLine::Context(text) | PatchLine::Removed(text) => Some(text.as_str()),
            PatchLine::Added(_) => None,
        })
    }

    /// The hunk's lines in the new file.
    pub(crate) fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            PatchLine::Context(text) | PatchLine::Added(text) => Some(text.as_str()),
            PatchLine::Removed(_) => None,
        })
    }
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
