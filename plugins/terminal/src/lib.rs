//! The terminal, in two halves. In the daemon: a channel whose chats are served by the attached
//! clients. On the other side of the socket: the client, with its input and its screen.

mod chat;
mod config;
mod convert;
mod receive;
mod screen;
mod send;

pub use chat::{
    ChatStyle, DaemonNotice, Left, LinkError, SaidChunk, TerminalChat, TerminalChatParts,
    TerminalLink,
};
pub use config::TerminalConfig;
pub use receive::{Input, LineEditor, Lines};
pub use screen::{Above, Dimming, Screen};
pub use send::Terminal;
