//! The configuration: one TOML file. Every key has a default. An unknown key is refused with its
//! line and the nearest known key. The tables of components stay opaque here: their types are in
//! the components.

mod agent_tools;
mod agents;
mod backup;
mod budgets;
mod changes;
mod document;
mod environment;
mod error;
mod gateway;
mod keys;
mod memory;
mod profiles;
mod reader;
mod refer;
mod retention;
mod schedules;
mod settings;
mod shipped;
mod skills;
mod syntax;

pub use agent_tools::AgentTools;
pub use agents::{AgentDefaults, Agents, TaskModels};
pub use backup::Backup;
pub use budgets::Budgets;
pub use changes::KeyPath;
pub use document::Document;
pub use environment::Environment;
pub use error::ConfigError;
pub use gateway::{Gateway, GatewayClient};
pub use keys::{keys, schema};
pub use memory::{ConsolidationSettings, MemorySettings};
pub use profiles::{DEFAULT, DEFAULTS, Profile, ProfileKeys, profiles};
pub use reader::{PLACES, References, Unresolved, is_for_secrets};
pub use retention::Retention;
pub use schedules::{Heartbeat, ScheduleTable};
pub use settings::{
    Attachments, Audit, Daemon, Durability, Log, LogFormat, Sandbox, Sessions, Settings,
};
pub use shipped::{SHIPPED, Shipped};
pub use skills::Skills;
