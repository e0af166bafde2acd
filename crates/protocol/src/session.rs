//! The settings of one conversation, and the MCP servers that its client brings.

mod options;
mod servers;

pub use options::{
    SessionOption, SessionOptionValue, SessionOptions, SessionSetting, SetOptionError,
    SetSessionOption,
};
pub use servers::{SESSION_SERVER_PREFIX, SessionServer, SessionServerStart, SessionServers};
