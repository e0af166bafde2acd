//! The walls: for files, a workspace and no way out of it; for programs, a cell.

mod cell;
mod nearest;
mod path;
mod workspace;

pub use cell::{Cell, CellError, CellLimits, Ended, Order, Output, Ran, Walls, run_stage};
pub use path::WorkspacePath;
pub use workspace::{
    Entry, EntryKind, FileError, MAX_FILE_BYTES, Workspace, WorkspaceError, digest,
};
