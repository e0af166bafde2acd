//! The port that connects to the daemon.

use std::fmt;

use async_trait::async_trait;
use avocet_gateway::Client;

/// Connects to the daemon's socket.
#[async_trait]
pub trait ConnectDaemon: fmt::Debug + Send + Sync {
    /// Connects to the running daemon, or starts one and connects to it.
    ///
    /// # Errors
    /// A text for the person: the cause, and the correction.
    async fn connect(&self) -> Result<Client, String>;
}
