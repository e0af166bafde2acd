//! The servers of one session, which a client such as an editor has given to it.

use std::sync::{Arc, OnceLock};

use avocet_supervise::RepeatedLines;
use futures_util::future::join_all;

use crate::memory::ServerMemory;
use crate::servers::SharedParts;
use crate::tools_version::ToolsVersion;
use crate::{McpClient, McpServerConfig, McpServerParts};

impl McpClient {
    /// Makes a client of the servers of one session, and starts none. It uses the services of this
    /// client. Approvals last as long as the new client, and there are no logins.
    #[must_use]
    pub fn with_session_servers(&self, name: &str, servers: Vec<McpServerParts>) -> Self {
        let shared = &self.shared;
        let services = shared.services.get().cloned().map_or_else(OnceLock::new, OnceLock::from);
        let shared = SharedParts {
            tokens: shared.tokens.clone(),
            has_logins: false,
            memory: Arc::new(ServerMemory::open(None)),
            version: ToolsVersion::default(),
            clock: shared.clock.clone(),
            group: shared.group.child_group(name),
            repeats: Arc::new(RepeatedLines::new()),
            services: Arc::new(services),
        };
        Self::from_shared(shared, servers)
    }

    /// Starts all servers at once. Returns, for each server that fails, its name and the reason. A
    /// failed server is started again after a pause.
    pub async fn start_all(&self) -> Vec<(String, String)> {
        let servers = self.all_servers().into_iter();
        let started = servers.map(async |(name, server)| (name, server.open_link().await.err()));
        let started = join_all(started).await.into_iter();
        started.filter_map(|(name, error)| error.map(|why| (name, why))).collect()
    }

    /// Stops all servers. Their calls fail.
    pub fn stop_all(&self) {
        self.shared.group.cancel_tasks();
    }

    /// Returns the names of the servers, with their tables.
    #[must_use]
    pub fn server_tables(&self) -> Vec<(String, McpServerConfig)> {
        let servers = self.all_servers().into_iter();
        servers.map(|(name, server)| (name, server.config.clone())).collect()
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
