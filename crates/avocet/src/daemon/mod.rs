//! The daemon: opens the log, starts agents, channels and the gateway, and keeps them as the
//! configuration says.

pub(crate) mod address_files;
pub(crate) mod children;
pub(crate) mod config_file;
pub(crate) mod connections;
pub(crate) mod copies;
pub(crate) mod intake;
pub(crate) mod parts;
pub(crate) mod reload;
pub(crate) mod retention;
pub(crate) mod running;
pub(crate) mod session_servers;
pub(crate) mod sessions;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stuck;
pub(crate) mod systemd;
pub(crate) mod timers;
