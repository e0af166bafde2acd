//! The client of MCP servers (Model Context Protocol, modelcontextprotocol.io). Their tools appear
//! in the registry beside the built-in ones, and pass the same checks.
//!
//! `config` is a table of the configuration, `servers` all servers together, `server` the life of
//! one, `link` its connection, `lines` its standard streams, `tool` a tool of it, `outcome` the
//! results, `offers` its resources and prompts, `oauth` the login at servers over HTTP, and `memory`
//! what is known of a server between two starts. `handler` answers a server's own requests: `elicit`
//! asks a person, with the fields of `form`, and `sampling` asks a model.

mod ask;
mod calls;
mod config;
mod elicit;
#[cfg(test)]
mod elicit_tests;
mod files;
mod form;
mod handler;
mod http;
mod lines;
mod link;
mod list;
mod memory;
mod names;
mod oauth;
mod offers;
mod outcome;
mod pins;
mod progress;
mod sampling;
mod server;
mod servers;
mod services;
#[cfg(test)]
mod testing;
mod tool;
mod wait;

pub use config::{McpOAuthConfig, McpServerConfig, OAuthGrant, SamplingLimits};
pub use link::{ChildProgram, ChildStreams};
pub use oauth::{CallbackListener, LoginDone, PendingLogin};
pub use offers::McpOffers;
pub use servers::{McpClient, McpClientParts, McpServerParts};
pub use services::McpServices;
