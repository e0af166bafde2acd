//! The port of the MCP servers: their states, their tools, and the approval of changed tools.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::StoreError;
use crate::tool::ToolClass;

/// The way in which the daemon reaches an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    /// A child process with JSON lines on its standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The server's table has neither `command` nor `url`.
    Missing,
}

/// The state of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpState {
    /// The server is not running. The next call of one of its tools starts it.
    Stopped,
    /// The server is starting.
    Starting,
    /// The server answers calls.
    Ready,
    /// The server failed. It is started again after a pause, or by the next call.
    Failed,
}

impl McpState {
    /// The word in JSON and in lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// A configured MCP server, in the result of `mcp.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerStatus {
    /// The name of its table in the configuration.
    pub name: String,
    /// The way to reach it.
    pub transport: McpTransport,
    /// Its state.
    pub state: McpState,
    /// The reason of a failure, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// `true` if the operator trusts its descriptions and results.
    pub trusted: bool,
    /// `true` if it starts with its first use.
    pub lazy: bool,
    /// Name and version, as the server states them. `None` before its first start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// The number of tools that models are offered.
    pub tools: u32,
    /// The tools that have changed since their approval, by their names in the registry. They are
    /// disabled until they are approved again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The tools that are left out, each with the reason, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// A key of its table that has no effect on this system, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The state of a tool's pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpToolState {
    /// A person has approved its present form.
    Approved,
    /// Its description, schema or annotations differ from the approved ones. It is disabled.
    Changed,
    /// No person has approved it yet. Its first call asks.
    New,
    /// A trusted server has added it since the first list of its tools. It is disabled.
    Added,
}

impl McpToolState {
    /// Returns `true` if no model is offered the tool until a person has approved it.
    #[must_use]
    pub fn is_disabled(self) -> bool {
        matches!(self, Self::Changed | Self::Added)
    }

    /// The word in JSON and in lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Changed => "changed",
            Self::New => "new",
            Self::Added => "added",
        }
    }
}

/// A tool of an MCP server, in the result of `mcp.tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolView {
    /// The name in the registry: `SERVER__TOOL`.
    pub name: String,
    /// The name that the server uses.
    pub tool: String,
    /// The description for the model. The server wrote it.
    pub description: String,
    /// The class.
    pub class: ToolClass,
    /// The state of its pin.
    pub state: McpToolState,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// The statements of the server about its effects.
    #[serde(default)]
    pub hints: McpToolHints,
    /// The digest of its present form: name, description, schema and annotations.
    pub digest: String,
    /// Of a changed tool: the approved form, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<McpToolForm>,
}

/// The statements of a server about the effects of a tool (MCP, "Tool Annotations"). `None` without
/// a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpToolHints {
    /// `readOnlyHint`: the tool only reads.
    pub read_only: Option<bool>,
    /// `destructiveHint`: the tool may destroy something.
    pub destructive: Option<bool>,
    /// `idempotentHint`: a repeated call has no further effect.
    pub idempotent: Option<bool>,
    /// `openWorldHint`: the tool deals with things outside of the server.
    pub open_world: Option<bool>,
}

/// The approved form of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolForm {
    /// The name that the server uses.
    #[serde(default)]
    pub tool: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// The statements of the server about its effects.
    #[serde(default)]
    pub hints: McpToolHints,
}

/// The reason why a request about MCP servers fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The configuration has no such server.
    #[error(
        "there is no MCP server {server}; `avocet mcp list` shows the servers of the configuration"
    )]
    UnknownServer {
        /// The name in the request.
        server: String,
    },
    /// The server has no such tool.
    #[error("the MCP server {server} has no tool {tool}; `avocet mcp tools {server}` lists them")]
    UnknownTool {
        /// The name in the configuration.
        server: String,
        /// The name in the request.
        tool: String,
    },
    /// A tool has another form than the one that was shown.
    #[error(
        "the MCP server {server} has changed {tools} meanwhile, and nothing was approved; look again \
         with `avocet mcp tools {server}`"
    )]
    ChangedMeanwhile {
        /// The name in the configuration.
        server: String,
        /// The tools, by their names in the registry.
        tools: String,
    },
    /// The server cannot be started or does not answer.
    #[error("the MCP server {server} failed: {why}")]
    Failed {
        /// The name in the configuration.
        server: String,
        /// The reason.
        why: String,
    },
    /// The log cannot be read or written.
    #[error("{0}")]
    Log(#[from] StoreError),
}

/// Lists MCP servers and their tools, and approves tools.
#[async_trait]
pub trait McpServers: fmt::Debug + Send + Sync {
    /// Returns all servers of the configuration, by name.
    fn servers(&self) -> Vec<McpServerStatus>;

    /// Returns the tools of a server, by name: those that its last start listed. With `refresh`,
    /// the server is started if necessary and its list is read again.
    ///
    /// # Errors
    /// [`McpError`], if the server is unknown or fails.
    async fn tools(&self, server: &str, refresh: bool) -> Result<Vec<McpToolView>, McpError>;

    /// Approves the present form of a tool, named as in the registry or as by its server; of all
    /// tools of the server for `None`. Returns the names of the tools whose state has changed.
    /// `shown` are the digests of the forms that the person has seen; `None` approves any form.
    ///
    /// # Errors
    /// [`McpError`], if the server or the tool is unknown, or a form is none of those in `shown`.
    async fn approve(
        &self,
        server: &str,
        tool: Option<&str>,
        shown: Option<&[String]>,
    ) -> Result<Vec<String>, McpError>;
}
