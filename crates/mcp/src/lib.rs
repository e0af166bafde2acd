//! The client of MCP servers (Model Context Protocol, modelcontextprotocol.io). Their tools appear
//! in the registry beside the built-in ones, and pass the same checks.
//!
//! - `config`: the configuration of a server.
//! - `servers`, `server`: all servers together, and the lifecycle of one.
//! - `session`: the servers that one session has beside those of the configuration.
//! - `link`, `lines`: the connection of a server, and its standard streams.
//! - `wire`: reads the messages of servers leniently, with `schema`; `errors` describes failures.
//! - `tool`, `outcome`: a tool of a server, and the results of its calls; `provider_schema` is the form
//!   of its schema that models get.
//! - `offers`: the resources and prompts of a server.
//! - `oauth`: the login at servers over HTTP.
//! - `memory`: facts about a server that are kept between two starts.
//! - `handler`: answers requests of a server. `elicit` asks a person, with the fields of `form`;
//!   `sampling` asks a model.

mod ask;
mod calls;
mod config;
mod digest;
mod elicit;
#[cfg(test)]
mod elicit_tests;
mod errors;
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
mod provider_schema;
#[cfg(test)]
mod quirk_tests;
mod sampling;
mod schema;
mod secret_words;
mod server;
mod servers;
mod services;
mod session;
#[cfg(test)]
mod testing;
mod tool;
mod tools_version;
mod wait;
mod wire;

pub use config::{McpOAuthConfig, McpServerConfig, OAuthGrant, SamplingLimits};
pub use link::{ChildProgram, ChildStreams};
pub use oauth::{CallbackListener, LoginDone, PendingLogin};
pub use offers::McpOffers;
pub use servers::{McpClient, McpClientParts, McpServerParts};
pub use services::McpServices;
