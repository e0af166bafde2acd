//! The port of MCP servers that a client, such as an editor, gives to one session.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::chat::SessionId;
use avocet_text::Secret;

/// The beginning of the names of these servers, and so of their tools. A server of the configuration may
/// have such a name, too; then the server of the session gets another one.
pub const SESSION_SERVER_PREFIX: &str = "editor-";

/// An MCP server that a client gives to a session: a program, or the URL of a server elsewhere.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionServer {
    /// The client's name for the server, in any characters.
    pub name: String,
    /// The program, by its name or path; `None` for a server with a URL.
    pub command: Option<String>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// Environment variables of the program.
    pub env: BTreeMap<String, Secret>,
    /// The URL of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// HTTP headers of each request to the URL.
    pub headers: BTreeMap<String, Secret>,
}

/// The outcome of the start of a session's server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionServerStart {
    /// The client's name for the server.
    pub name: String,
    /// The name before `__` in the names of its tools. For a server that the configuration has
    /// already, the name of its table.
    pub server: String,
    /// The reason why it does not run, as a sentence; `None` if it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Starts MCP servers for single sessions.
#[async_trait]
pub trait SessionServers: fmt::Debug + Send + Sync {
    /// Starts the servers, and offers their tools in the session until `ended` fires. They replace
    /// servers that the session has had. Returns once each has started or failed, in the order of
    /// `servers`. A failed server is started again after a pause.
    async fn give_to_session(
        &self,
        session: SessionId,
        servers: Vec<SessionServer>,
        ended: CancellationToken,
    ) -> Vec<SessionServerStart>;
}
