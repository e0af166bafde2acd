//! Confines file tools to a workspace, and programs to a sandbox.

mod belief;
mod cell;
mod changes;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod git;
mod guard;
mod listing;
mod nearest;
mod path;
mod protection;
mod protects;
mod provenance;
mod replace;
mod repository;
mod roots;
mod secrets;
mod trail;
mod tree;
mod watch;
mod workspace;

pub use belief::Standing;
pub use cell::{
    Behind, Cell, CellError, CellLimits, Cgroups, GitPlace, NoCgroups, Output, ProgramEnd,
    ProgramRequest, ProgramResult, Proxy, Reached, Rights, Walls, run_stage,
};
pub use changes::Removed;
pub use error::{FileError, WorkspaceError};
pub use guard::{Guard, Guarded};
pub use listing::{DirectoryEntry, EntryKind};
pub use path::WorkspacePath;
pub use protection::{BadPath, PROTECTED, Protection};
pub use repository::Repository;
pub use roots::{Access, READ_ROOTS, Roots, WRITE_ROOTS};
pub use secrets::{BadPattern, SECRET_FILES};
pub use trail::trail;
pub use watch::Watch;
pub use workspace::{MAX_FILE_BYTES, Workspace, digest};
