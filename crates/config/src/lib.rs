//! The configuration: one TOML file, every key with a default, unknown keys refused with their line
//! and the nearest key. The tables of components stay opaque here: their types are beside them.

mod budgets;
mod document;
mod keys;
mod profiles;
mod refer;
mod settings;

pub use budgets::Budgets;
pub use document::{ConfigError, Document, Environment};
pub use keys::keys;
pub use profiles::{DEFAULTS, Profile, ProfileKeys, profiles};
pub use settings::{
    AgentDefaults, Agents, Attachments, Audit, Daemon, Durability, Gateway, Log, LogFormat,
    Sessions, Settings,
};
