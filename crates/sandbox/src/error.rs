//! The errors of a workspace and of its files.

use std::io;
use std::path::PathBuf;

use crate::config_keys::{PROTECTED, READ_ROOTS, SECRET_FILES, WRITE_ROOTS};

/// The reason why a workspace, or a directory beside it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what} {path} cannot be used ({error}); check the path, its owner and its permissions")]
pub struct WorkspaceError {
    /// The role of the directory.
    pub what: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// The system's error.
    pub error: io::Error,
}

/// The reason why a file cannot be used. The text is written for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The path leads out of the workspace and of the directories beside it.
    #[error(
        "{input:?} resolves to {resolved}, which is outside the workspace{}; give full relative \
         paths from the workspace root, such as src/main.rs{}{}",
        and_outside(roots),
        if roots.is_empty() { "" } else { ", or absolute paths in those directories" },
        format_candidates(same_name)
    )]
    Outside {
        /// The path as given.
        input: String,
        /// The target of the path.
        resolved: String,
        /// Entries of the workspace with the same name, relative to its root.
        same_name: Vec<String>,
        /// The workspace and the directories beside it; empty without such directories.
        roots: Vec<String>,
    },
    /// The directory was moved, removed or replaced after it was opened.
    #[error(
        "{root} is no longer the directory that the daemon opened at its start ({now}), so nothing \
            was done: file tools would use the old one and programs the new one. Tell the user: \
            put the old directory back, or restart the daemon"
    )]
    Replaced {
        /// The absolute path of the directory.
        root: String,
        /// The present state of that path.
        now: String,
    },
    /// The path does not exist.
    #[error("{path} does not exist{}", format_candidates(nearest))]
    NotFound {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The paths that were probably meant, in the same form.
        nearest: Vec<String>,
    },
    /// The path is something else, such as a directory, a device or a pipe.
    #[error("{path} is not {expected}")]
    WrongKind {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The expected kind, with its article.
        expected: &'static str,
    },
    /// The file exceeds the limit for reading or writing at once.
    #[error("{path} is {bytes} bytes long; at most {limit} are read or written at once")]
    TooLarge {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// Its size, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The directory has entries.
    #[error(
        "{path} is a directory with {entries} {} in it; to remove it with all of them, set \
         recursive to true",
        if *entries == 1 { "entry" } else { "entries" }
    )]
    NotEmpty {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The number of entries in it and below it.
        entries: usize,
    },
    /// The file holds a password or a key, or is the daemon's own.
    #[error(
        "{path} is not opened: {why}. The operator can allow it with {SECRET_FILES} = \
         [{opened_by:?}] in the configuration"
    )]
    Secret {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The reason why it counts as a secret.
        why: &'static str,
        /// The pattern that opens it.
        opened_by: String,
    },
    /// The file has further names (hard links), which may be outside, or those of a secret.
    #[error(
        "{path} is not opened: it has {names} names (hard links), and the others may be outside the \
         workspace. Use a copy of it; the operator can allow paths like this one with {SECRET_FILES}"
    )]
    Shared {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The number of its names.
        names: u64,
    },
    /// The path is in a read-only directory.
    #[error(
        "{path} is not changed: {root} is read only, by {READ_ROOTS} in the configuration. The \
         operator can allow changes by naming it in {WRITE_ROOTS} instead"
    )]
    ReadOnly {
        /// The absolute path, and as given.
        path: String,
        /// The read-only directory.
        root: String,
    },
    /// A link leads to a protected path.
    #[error(
        "{path} is not changed: it leads through a link to {place}, whose content is run \
            outside of the sandbox ({PROTECTED}). Name {place} itself: then the user is asked"
    )]
    Protected {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The target of the link.
        place: String,
    },
    /// The system or a rule of the workspace refuses.
    #[error("{path}: {detail}")]
    Refused {
        /// The path: relative to the root (absolute beside the workspace), and as given.
        path: String,
        /// The reason.
        detail: String,
    },
}

fn and_outside(roots: &[String]) -> String {
    match roots {
        [] => String::new(),
        [workspace, beside @ ..] => {
            format!(" ({workspace}) and the directories beside it ({})", beside.join(", "))
        }
    }
}

fn format_candidates(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        several => {
            format!("; did you mean one of these? Give its full path: {}", several.join(", "))
        }
    }
}
