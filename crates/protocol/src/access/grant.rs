//! An approval that stays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ToolName;

/// An approval for the rest of a session: calls of `tool` with the same scope need no further
/// approval.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The tool, by its own name instead of an alias.
    pub tool: ToolName,
    /// The scope in which calls need no further approval.
    pub scope: String,
}
