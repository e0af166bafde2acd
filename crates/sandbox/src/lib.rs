//! Confines file tools to a workspace, and programs to a sandbox.

mod attributes;
mod changes;
mod config_keys;
mod editor_place;
mod entry_kind;
mod error;
mod file_trust;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod git;
mod guard;
mod kept_copies;
mod listing;
mod nearest;
mod path;
mod protection;
mod protects;
mod provenance;
mod read_configs;
mod replace;
mod repository;
mod roots;
mod sandbox;
mod secrets;
mod shown_texts;
mod symlink_trace;
mod task_trust;
mod trust_level;
mod untrusted_tree;
mod watch;
mod workspace;
mod writing_programs;

pub use changes::{RemoveMode, RemovedKind};
pub use config_keys::{PROTECTED, READ_ROOTS, SECRET_FILES, WRITE_ROOTS};
pub use entry_kind::EntryKind;
pub use error::{FileError, WorkspaceError};
pub use git::without_dots;
pub use guard::{ProtectedChanges, ProtectionGuard};
pub use kept_copies::{
    ChangeWindow, ChangedPath, FileChange, KeepError, KeptCopies, ShownState, UndoneChanges,
};
pub use listing::DirectoryEntry;
pub use path::WorkspacePath;
pub use protection::{BadPath, PathProtection};
pub use repository::GitRepository;
pub use roots::{RootAccess, WorkspaceRoots};
pub use sandbox::{
    CgroupParent, GitPlace, Isolation, NoCgroups, ProgramEnd, ProgramProxy, ProgramRequest,
    ProgramResult, ProgramRights, ProgramSandbox, ProgramStreams, ReachedHosts, SYSTEM_PATHS,
    SandboxError, SandboxLayers, SandboxLimits, SandboxOutput, run_stage,
};
pub use secrets::BadPattern;
pub use symlink_trace::trace_symlinks;
pub use trust_level::ExplainedTrust;
pub use watch::WatchedProgram;
pub use workspace::{MAX_FILE_BYTES, Workspace, digest_bytes};
