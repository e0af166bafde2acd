//! The configuration of a directory.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// A directory of text files, for scripts, cron jobs and sync tools. A file in its `inbox` is a
/// message of the operator, and a file in its `outbox` is an answer. For several conversations,
/// write a table for each: `[channels.directory.backup]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DirectoryConfig {
    /// The directory. It is created if it is missing. An existing one must belong to the daemon's
    /// user and have mode 0700, because its files count as words of the operator. It must not
    /// overlap the workspaces and the directories of `[tools]` and `[sandbox]`.
    pub path: Option<PathBuf>,
}
