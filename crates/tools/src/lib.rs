//! The tools of the agent: the registry, which checks every call before it reaches a tool, and the
//! built-in tools, one file each.

mod aliases;
mod approval;
mod builtin;
mod command_precheck;
mod declared_types;
mod erased;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod hosts;
mod leaks;
mod only_git;
mod outside;
mod patch;
mod paths;
mod policy;
mod registered;
mod registry;
mod schema;
mod shell_words;
mod web;
mod workspace_files;

pub use aliases::tool as tool_meant_by;
pub use builtin::{BUILT_IN, Background, BuiltinParts, Shell, add_builtin};
pub use hosts::OpenHosts;
pub use paths::Paths;
pub use policy::{Listed, Policy};
pub use registry::{AlreadyRegistered, Registry, SessionOffer, SessionSources, skill_allows};
pub use web::Web;
pub use web::search::{SearchConfig, SearchEngine};
pub use workspace_files::WorkspaceFiles;
