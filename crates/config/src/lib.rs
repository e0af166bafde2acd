//! The configuration: one TOML file, every key with a default, unknown keys refused with their line
//! and the nearest key. The tables of components stay opaque here: their types are beside them.

mod backup;
mod budgets;
mod document;
mod keys;
mod profiles;
mod reader;
mod refer;
mod settings;
mod syntax;

pub use backup::Backup;
pub use budgets::Budgets;
pub use document::{ConfigError, Document, Environment};
pub use keys::keys;
pub use profiles::{DEFAULTS, Profile, ProfileKeys, profiles};
pub use reader::{PLACES, References, Unresolved};
pub use settings::{
    AgentDefaults, Agents, Attachments, Audit, Daemon, Durability, Gateway, Log, LogFormat,
    Sandbox, Sessions, Settings,
};
