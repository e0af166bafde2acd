//! The client of MCP servers (Model Context Protocol, modelcontextprotocol.io). Their tools appear
//! in the registry beside the built-in ones, and pass the same checks.
//!
//! - `config`: the configuration of a server.
//! - `servers`, `server`: all servers together, and the lifecycle of one.
//! - `link`, `lines`: the connection of a server, and its standard streams.
//! - `tool`, `outcome`: a tool of a server, and the results of its calls.
//! - `offers`: the resources and prompts of a server.
//! - `oauth`: the login at servers over HTTP.
//! - `memory`: facts about a server that are kept between two starts.
//! - `handler`: answers requests of a server. `elicit` asks a person, with the fields of `form`;
//!   `sampling` asks a model.

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
