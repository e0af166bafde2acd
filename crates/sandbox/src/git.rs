//! The programs that a git repository makes git run, by its configuration and its hooks.

mod config;
mod harmless;
mod leads;

pub(crate) use config::{ConfigEntry, is_plain, parse_config, write_config};
pub(crate) use leads::paths_git_follows;
pub use leads::without_dots;

/// Longest configuration that is read, in bytes. A longer one counts as one that git would refuse.
pub(crate) const MOST_CONFIG: u64 = 1024 * 1024;
