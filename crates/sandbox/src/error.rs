//! Why a workspace, or a file in it, cannot be used.

use std::io;
use std::path::PathBuf;

use crate::WorkspacePath;
use crate::protection::PROTECTED;
use crate::roots::{READ_ROOTS, WRITE_ROOTS};
use crate::secrets::SECRET_FILES;

/// Why a workspace, or a directory beside it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what} {path} cannot be used ({error}); check the path, its owner and its permissions")]
pub struct WorkspaceError {
    /// What the directory is.
    pub what: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

/// Why a file cannot be used. The text is written for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The path leads out of the workspace, and of the directories beside it.
    #[error(
        "{input:?} resolves to {resolved}, which is outside the workspace{}; give full relative \
         paths from the workspace root, such as src/main.rs{}{}",
        and_outside(roots),
        if roots.is_empty() { "" } else { ", or absolute paths in those directories" },
        candidates(same_name)
    )]
    Outside {
        /// What was given.
        input: String,
        /// Where it leads.
        resolved: String,
        /// What has this name in the workspace, relative to its root.
        same_name: Vec<String>,
        /// The workspace and the directories beside it, where there are any.
        roots: Vec<String>,
    },
    /// The directory was moved, removed or replaced after it was opened.
    #[error(
        "nothing is done in {root}, because it is not the directory any more that was opened when the daemon started \
         ({now}): file tools would use the old one and programs the new one. Tell the user: put the old directory \
         back, or restart the daemon"
    )]
    Replaced {
        /// Its path, absolute.
        root: String,
        /// What is found there instead.
        now: String,
    },
    /// Nothing is there.
    #[error("{path} does not exist{}", candidates(nearest))]
    NotFound {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// What was probably meant, named in the same way.
        nearest: Vec<String>,
    },
    /// It is a directory, a device, a pipe.
    #[error("{path} is not {expected}")]
    WrongKind {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// What was expected, with its article.
        expected: &'static str,
    },
    /// It is larger than what is read or written whole.
    #[error("{path} is {bytes} bytes long; at most {limit} are read or written at once")]
    TooLarge {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// Its size.
        bytes: u64,
        /// What is read or written at once.
        limit: u64,
    },
    /// A directory has something in it.
    #[error(
        "{path} is a directory with {entries} {} in it; to remove it with all of them, set \
         recursive to true",
        if *entries == 1 { "entry" } else { "entries" }
    )]
    NotEmpty {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// What is in it, and in the directories in it.
        entries: usize,
    },
    /// It holds a password or a key, or is the daemon's own.
    #[error(
        "{path} is not opened: {why}. The operator can allow it with {SECRET_FILES} = \
         [{opened_by:?}] in the configuration"
    )]
    Secret {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// Why it counts as a secret.
        why: &'static str,
        /// The pattern that opens it.
        opened_by: String,
    },
    /// A file has further names, and so may be one from outside, or a secret.
    #[error(
        "{path} is not opened: it has {names} names (hard links), and the others may be outside the \
         workspace. Use a copy of it; the operator can allow paths like this one with {SECRET_FILES}"
    )]
    Shared {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// How many names it has.
        names: u64,
    },
    /// It is in a directory of which nothing is changed.
    #[error(
        "{path} is not changed: {root} is read only, by {READ_ROOTS} in the configuration. The \
         operator can allow changes by naming it in {WRITE_ROOTS} instead"
    )]
    ReadOnly {
        /// Absolute, and as it was given.
        path: String,
        /// The directory.
        root: String,
    },
    /// A link leads to a protected path.
    #[error(
        "{path} is not changed: it leads through a link to {place}, whose content is run outside of the sandbox \
         ({PROTECTED}). Name {place} itself: then the user is asked"
    )]
    Protected {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// Where it leads.
        place: String,
    },
    /// The system refused.
    #[error("{path}: {detail}")]
    Refused {
        /// Relative to the root, beside the workspace absolute, and as it was given.
        path: String,
        /// What the system said.
        detail: String,
    },
}

pub(crate) fn wrong_kind(path: &WorkspacePath, expected: &'static str) -> FileError {
    FileError::WrongKind { path: path.as_given(), expected }
}

fn and_outside(roots: &[String]) -> String {
    match roots {
        [] => String::new(),
        [workspace, beside @ ..] => {
            format!(" ({workspace}) and the directories beside it ({})", beside.join(", "))
        }
    }
}

fn candidates(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        several => {
            format!("; did you mean one of these? Give its full path: {}", several.join(", "))
        }
    }
}
