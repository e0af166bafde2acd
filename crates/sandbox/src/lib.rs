//! The walls. So far those for files: a workspace, and no way out of it.

mod nearest;
mod path;
mod workspace;

pub use path::WorkspacePath;
pub use workspace::{
    Entry, EntryKind, FileError, MAX_FILE_BYTES, Workspace, WorkspaceError, digest,
};
