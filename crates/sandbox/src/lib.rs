//! The walls: for files, a workspace and no way out of it; for programs, a cell.

mod cell;
mod changes;
mod nearest;
mod path;
mod secrets;
mod workspace;

pub use cell::{Cell, CellError, CellLimits, Ended, Order, Output, Ran, Walls, run_stage};
pub use changes::Removed;
pub use path::WorkspacePath;
pub use secrets::{BadPattern, SECRET_FILES};
pub use workspace::{
    Entry, EntryKind, FileError, MAX_FILE_BYTES, Workspace, WorkspaceError, digest,
};
