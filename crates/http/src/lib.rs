//! The HTTP interface of the daemon: the methods of the socket for programs that speak HTTP, streams
//! of turn events, and the daemon's health. Every request passes the host and origin check, then the
//! token check, before a route sees it.

#![expect(unused_qualifications, reason = "utoipa repeats the types of parameters with a path")]

mod body_pieces;
mod caller;
mod config;
mod console;
mod deliveries;
mod form;
mod guard;
mod hooks;
mod input;
mod mcp;
mod method_schemas;
mod metrics;
mod openai;
mod openapi;
mod problem;
mod routes;
mod server;
mod sse;
mod state;
mod webhooks;

pub use config::{BadHttpKey, HttpConfig, HttpPlan, HttpToken};
pub use console::{Console, ConsoleParts};
pub use hooks::{HookConfig, HookPlan, hook_plans};
pub use server::{HttpListener, HttpServer, ListenError};
