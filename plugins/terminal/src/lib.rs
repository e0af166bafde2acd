//! The terminal, in two halves. In the daemon: a channel whose chats are served by the attached
//! clients. On the other side of the socket: the client, with its input and its screen.

mod chat;
mod config;
mod convert;
mod drawn_pictures;
mod highlight;
mod key;
mod keys;
mod line;
mod live;
mod markdown;
mod receive;
mod screen;
mod send;
mod styled;
#[cfg(test)]
mod testing;

pub use chat::{
    ChatEnd, ChatFigures, ConversationEntry, DaemonNotice, EarlierMessage, EditorAccess, LinkError,
    SaidChunk, TerminalChat, TerminalChatParts, TerminalLink,
};
pub use config::TerminalConfig;
pub use drawn_pictures::PictureProtocol;
pub use key::KeyGate;
pub use keys::Keyboard;
pub use line::Completer;
pub use live::{AttentionSign, LiveParts, TerminalSize};
pub use receive::{Input, Lines};
pub use screen::Screen;
pub use send::Terminal;
pub use styled::Look;
