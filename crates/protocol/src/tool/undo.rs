//! The places that a call can change, so that copies of them are kept and a person can undo it.

use std::path::PathBuf;

/// Places below one directory that a call can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPlace {
    /// The directory, absolute: a workspace, or a directory beside it.
    pub root: PathBuf,
    /// Single files and directories, from the root.
    pub paths: Vec<PathBuf>,
    /// Directories from the root whose whole content the call can change. An empty path is the root
    /// itself.
    pub trees: Vec<PathBuf>,
}
