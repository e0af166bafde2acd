//! The tools of the agent: the registry, which checks every call before it reaches a tool, and the
//! built-in tools, one file each.

mod aliases;
mod approval;
mod builtin;
mod command_precheck;
mod command_shape;
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
mod rule_grammar;
mod rule_policy;
mod schema;
mod session_grants;
mod shell_words;
mod web;
mod workspace_files;

pub use aliases::tool_of_alias as tool_meant_by;
pub use builtin::names::BUILT_IN;
pub use builtin::{BackgroundPrograms, BuiltinParts, ProgramSettings, add_builtin};
pub use hosts::OpenHosts;
pub use paths::PathLocks;
pub use policy::{AgentPolicy, ListedTools};
pub use registry::{
    AlreadyRegistered, ChangeReviews, SessionOffer, SessionSources, ToolRegistry, skill_allows,
};
pub use rule_policy::describe_rule;
pub use web::WebAccess;
pub use web::search::{SearchConfig, SearchEngine};
pub use workspace_files::WorkspaceFiles;
