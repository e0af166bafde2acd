//! The walls: for files, a workspace and no way out of it; for programs, a cell.

mod cell;
mod changes;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod nearest;
mod path;
mod provenance;
mod replace;
mod secrets;
mod watch;
mod workspace;

pub use cell::{
    Behind, Cell, CellError, CellLimits, Ended, Order, Output, Proxy, Ran, Reached, Walls,
    run_stage,
};
pub use changes::Removed;
pub use error::{FileError, WorkspaceError};
pub use path::WorkspacePath;
pub use secrets::{BadPattern, SECRET_FILES};
pub use watch::Watch;
pub use workspace::{Entry, EntryKind, MAX_FILE_BYTES, Workspace, digest};
