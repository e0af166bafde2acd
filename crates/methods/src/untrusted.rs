//! Parts of a message that its sender did not type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text of another author within a message. The agent reads it as untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UntrustedPart {
    /// The author or the kind of the text, as people know it. Default: `somebody`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The text.
    pub text: String,
}
