//! The MCP servers of the configuration.

use async_trait::async_trait;
use avocet_protocol::{McpError, McpServerStatus, McpServers, McpToolView};

/// No servers.
#[derive(Debug)]
pub(crate) struct NoMcpServers;

#[async_trait]
impl McpServers for NoMcpServers {
    fn servers(&self) -> Vec<McpServerStatus> {
        Vec::new()
    }

    async fn tools(&self, server: &str, _: bool) -> Result<Vec<McpToolView>, McpError> {
        Err(McpError::UnknownServer { server: server.to_owned() })
    }

    async fn approve(&self, server: &str, _: Option<&str>) -> Result<Vec<String>, McpError> {
        Err(McpError::UnknownServer { server: server.to_owned() })
    }
}
