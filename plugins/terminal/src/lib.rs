//! The terminal, in two halves. In the daemon: a channel whose chats are served by whoever is
//! attached to them. On the other side of the socket: what a person types into and reads.

mod chat;
mod config;
mod convert;
mod receive;
mod screen;
mod send;

pub use chat::{Chat, Heard, Left, Link, LinkError, SaidChunk, Style};
pub use config::TerminalConfig;
pub use receive::{Input, Lines, Prompt};
pub use screen::{Above, Screen};
pub use send::Terminal;
