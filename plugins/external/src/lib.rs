//! A channel whose platform is another program. The program connects to the socket, or the daemon
//! starts it as a child. It attaches to the account, publishes the messages of people, and delivers
//! the answers. So a channel can be written in any language.
//!
//! `config` is the table of the configuration, and `send` the channel. The gateway receives the
//! messages of people.

mod config;
mod send;

pub use config::{ExternalConfig, ExternalGroup};
pub use send::External;
