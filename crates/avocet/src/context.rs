//! The context of every command: the options of the command line, and the differences from the
//! shipped program.

use std::path::PathBuf;
use std::sync::Arc;

use avocet_net::GuardedClient;
use avocet_protocol::clock::Clock;
use avocet_supervise::Group;
use avocet_tools::{AlreadyRegistered, ToolRegistry};
use clap::Args;

use crate::logging;

/// Adds tools to the built-in ones.
pub type AddTools = fn(&mut ToolRegistry) -> Result<(), AlreadyRegistered>;

/// Differences of a program from the shipped one.
#[derive(Debug, Clone, Copy)]
pub struct CommandOverrides {
    /// Tools beside the built-in ones.
    pub add_tools: AddTools,
    /// Wraps the client for the web.
    pub web: fn(GuardedClient) -> GuardedClient,
}

/// The shipped program: no differences.
impl Default for CommandOverrides {
    fn default() -> Self {
        Self { add_tools: |_| Ok(()), web: |client| client }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct CommandContext {
    pub(crate) cli: Global,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) root: Group,
    pub(crate) otherwise: CommandOverrides,
}

/// Options of all commands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Configuration file. Default: $AVOCET_CONFIG, then avocet/config.toml in $XDG_CONFIG_HOME or
    /// ~/.config, then none.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Log level, instead of the one in the configuration: error, warn, info, debug, trace.
    #[arg(long, global = true, value_name = "LEVEL", value_parser = logging::parse_level)]
    pub(crate) log: Option<String>,
}
