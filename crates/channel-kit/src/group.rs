//! The part of a channel's configuration that concerns one group.

use schemars::JsonSchema;
use serde::Deserialize;

/// Settings of one group.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GroupConfig {
    /// Who may speak there, in place of everybody who may on the account. Empty means nobody.
    pub allow: Option<Vec<u64>>,
    /// Whether an owner has an owner's tools there, although others read along.
    pub owner_tools: bool,
    /// Whether the bot answers only when it is mentioned, replied to or commanded.
    pub mention: bool,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self { allow: None, owner_tools: false, mention: true }
    }
}
