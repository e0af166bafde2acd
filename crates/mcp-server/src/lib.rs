//! The daemon as a server of the Model Context Protocol (modelcontextprotocol.io): tools and
//! resources over the methods of the socket. Both transports, stdio and HTTP, share one handler.

mod answers;
mod arguments;
mod catalogue;
mod client_session;
mod forms;
mod host;
mod progress;
mod resources;
mod rights;
mod seen;
mod server;
mod sessions;
mod subscriptions;
mod tools;
mod transcript;
mod watch;

pub use rmcp::model::Extensions;

pub use client_session::client_session;
pub use host::{McpCaller, McpHost, MethodError, SessionFeed, SocketMethods};
pub use server::{McpServer, McpServerParts};
pub use sessions::serve_stream;
