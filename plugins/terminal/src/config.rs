//! The configuration of the terminal.

use std::convert::Infallible;
use std::sync::Arc;

use avocet_protocol::access::Allow;
use avocet_protocol::channel::{Attach, ChannelAccounts, ChannelConfig};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, IdError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Terminal;

/// The terminal. Everyone who can reach the daemon's socket has access: the operating system
/// protects the socket.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalConfig {
    /// Number of typed lines to keep for the arrow keys, also after a restart. 0 keeps none.
    /// Default: 1000.
    pub history_lines: usize,
}

impl ChannelConfig for TerminalConfig {
    const NAME: &'static str = "terminal";
    const ACCOUNTS: ChannelAccounts = ChannelAccounts::Only("local");
    type Channel = Terminal;
    type Error = Infallible;

    fn allow(&self) -> Result<Allow, IdError> {
        Ok(Allow::Local)
    }

    fn channel(
        &self,
        name: ChannelName,
        account: AccountName,
        _clock: Arc<dyn Clock>,
    ) -> Result<Terminal, Infallible> {
        Ok(Terminal::new(name, account))
    }

    fn attach(channel: &Arc<Terminal>) -> Option<Arc<dyn Attach>> {
        Some(channel.clone())
    }
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self { history_lines: 1000 }
    }
}
