//! The long-term memory.

use schemars::JsonSchema;
use serde::Deserialize;

/// The long-term memory.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemorySettings {
    /// `true` to mirror the memory in Markdown files, which you can read and edit: one for each scope,
    /// in the directory `memory` of the data directory. Tools and programs of the agent cannot reach
    /// them. `false` leaves existing files as they are. Default: `true`.
    pub mirror: bool,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { mirror: true }
    }
}
