//! The configuration of the terminal.

use schemars::JsonSchema;
use serde::Deserialize;

/// The terminal. Whoever can reach the daemon's socket may speak: the system guards it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalConfig {
    /// Typed lines that are kept for the arrow keys, over restarts; 0 for none.
    pub history_lines: usize,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self { history_lines: 1000 }
    }
}
