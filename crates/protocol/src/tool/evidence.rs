//! The state that a tool records, so that its effect can be verified after a crash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state that a verifiable tool records before it acts, for the comparison after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The object that the call changes, for example a path relative to the workspace.
    pub subject: String,
    /// A digest of its state before the call; `None` if it did not exist.
    pub before: Option<String>,
    /// A digest of the state that the call produces.
    pub after: String,
}
