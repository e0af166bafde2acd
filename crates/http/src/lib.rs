//! The HTTP interface of the daemon: the methods of the socket for programs that speak HTTP, streams
//! of turn events, and the daemon's health. Every request passes the host and origin check, then the
//! token check, before a route sees it.

mod bad_key;
mod body_pieces;
mod caller;
mod config;
mod console;
mod deliveries;
mod download;
mod form;
mod guard;
mod hooks;
mod input;
#[cfg(feature = "mcp-server")]
mod mcp;
mod metrics;
mod on_demand;
mod openai;
mod openapi;
mod problem;
mod routes;
mod secret_bytes;
mod server;
mod sse;
mod state;
mod webhooks;

pub use bad_key::BadHttpKey;
pub use config::{HttpConfig, HttpPlan, HttpToken};
pub use console::{Console, ConsoleParts};
pub use hooks::{HookConfig, HookPlan, hook_plans};
pub use server::{HttpListener, HttpServer, ListenError};
