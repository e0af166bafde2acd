//! The part of a channel's configuration that concerns one group.

use schemars::JsonSchema;
use serde::Deserialize;

/// Settings of one group.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GroupConfig {
    /// Numeric user ids of the people who have access in this group, owners included. The list
    /// replaces those of the account; an empty list admits no one. Default: the people with access
    /// to the account.
    pub allow: Option<Vec<u64>>,
    /// `true` to let owners use their own tools in this group, although other members read along.
    /// Default: `false`.
    pub owner_tools: bool,
    /// `true` to answer only messages that mention the bot, reply to it or are commands. Default:
    /// `true`.
    pub mention: bool,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self { allow: None, owner_tools: false, mention: true }
    }
}
