//! Commands that write the configuration and install the program.

pub(crate) mod config;
pub(crate) mod init;
pub(crate) mod mcp;
pub(crate) mod service;
pub(crate) mod update;
