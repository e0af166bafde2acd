//! The methods about MCP servers.

use avocet_protocol::tool::{McpServerStatus, McpToolView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EmptyParams, Touches};

/// `mcp.tools`: lists the tools of an MCP server. The result is a list of
/// [`McpToolView`](avocet_protocol::tool::McpToolView).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMcpTools {
    /// The name of the server in the configuration.
    pub server: String,
    /// `true` to start the server if necessary, and to read its list again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refresh: bool,
}

/// `mcp.approve`: approves the present form of tools. The result is the list of the tools whose
/// state has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveMcpTools {
    /// The name of the server in the configuration.
    pub server: String,
    /// The tool, by its name in the registry or its server's name for it. Default: all tools of the
    /// server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The digests of the forms that the person has seen. A tool with another form is refused, and
    /// nothing is approved. Default: any form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<Vec<String>>,
}

/// `mcp.list`: the MCP servers of the configuration, without secrets.
#[derive(Debug)]
pub enum ListMcpServers {}

method!(ApproveMcpTools = "mcp.approve": Self => Vec<String>, Operator, Touches::Everything, outside_libraries);
method!(ListMcpServers = "mcp.list": EmptyParams => Vec<McpServerStatus>, Observer, Touches::Everything, optional_params, outside_libraries);
method!(ListMcpTools = "mcp.tools": Self => Vec<McpToolView>, Observer, Touches::Everything, outside_libraries);
