//! The configuration of the terminal.

use schemars::JsonSchema;
use serde::Deserialize;

/// The terminal. Everyone who can reach the daemon's socket has access: the operating system
/// protects the socket.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalConfig {
    /// Number of typed lines to keep for the arrow keys, also after a restart. 0 keeps none.
    /// Default: 1000.
    pub history_lines: usize,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self { history_lines: 1000 }
    }
}
