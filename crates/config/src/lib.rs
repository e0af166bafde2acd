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
mod rules;
mod schedules;
mod settings;
mod shipped;
mod skills;
mod syntax;

pub use agent_tools::AgentTools;
pub use agents::{AgentDefaults, AgentsConfig, TaskModels};
pub use backup::BackupConfig;
pub use budgets::BudgetsConfig;
pub use changes::KeyPath;
pub use document::ConfigDocument;
pub use environment::Environment;
pub use error::ConfigError;
pub use gateway::{GatewayClient, GatewayConfig};
pub use keys::{keys, schema};
pub use memory::{ConsolidationSettings, MemorySettings};
pub use profiles::{AgentProfile, DEFAULT, DEFAULTS, ProfileKeys, read_profiles};
pub use reader::{PLACES, UnresolvedValue, UsedReferences, is_for_secrets};
pub use retention::RetentionConfig;
pub use rules::RulesConfig;
pub use schedules::{HeartbeatConfig, ScheduleTable};
pub use settings::{
    AttachmentsConfig, AuditConfig, ConfigSettings, DaemonConfig, LogConfig, LogDurability,
    LogFormat, SandboxConfig, SessionsConfig, ToolsConfig, WebConfig,
};
pub use shipped::{SHIPPED, ShippedProfile};
pub use skills::SkillsConfig;
