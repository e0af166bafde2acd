//! The walls. So far those for files: a workspace, and no way out of it.

mod changes;
mod nearest;
mod path;
mod secrets;
mod workspace;

pub use changes::Removed;
pub use path::WorkspacePath;
pub use secrets::{BadPattern, SECRET_FILES};
pub use workspace::{
    Entry, EntryKind, FileError, MAX_FILE_BYTES, Workspace, WorkspaceError, digest,
};
