//! The one registry of components: each component is a line in its list. A component declares its name,
//! its configuration and its making itself, through [`ProviderConfig`] or [`ChannelConfig`].
//!
//! [`ProviderConfig`]: avocet_llm::ProviderConfig
//! [`ChannelConfig`]: avocet_protocol::channel::ChannelConfig

mod channels;
mod child_access;
#[cfg(test)]
mod declared;
mod key_error;
mod providers;
mod services;
mod tables;

use std::sync::Arc;

use avocet_config::{ConfigDocument, ConfigError, ConfigSettings};
use avocet_protocol::clock::Clock;
use avocet_supervise::SystemClock;
use avocet_tools::{BUILT_IN, ToolRegistry};

use crate::context::CommandContext;
use crate::exit::{Exit, Failure};

pub(crate) use channels::{
    AccountId, ChannelDirectory, ChannelProgram, Channels, ConfiguredChannel, channel_directories,
    channel_webhooks, make_channels, web_channel,
};
pub(crate) use child_access::ChildAccess;
pub(crate) use key_error::key_error;
pub(crate) use providers::{make_model, unnamed_model};
pub(crate) use services::{
    ConfiguredEmbedder, MCP_SERVERS, WEB_SEARCH, configured_embedder, http_plan, make_transcriber,
    mcp_servers, open_hosts, opened_hosts, speech_endpoint, spoken_answers, transcription_endpoint,
    web_search,
};

#[cfg(feature = "telemetry")]
pub(crate) use services::telemetry_config;
pub(crate) use tables::{ACCOUNTS, KINDS, OPTIONAL, config_schema};

#[cfg(test)]
pub(crate) use declared::DeclaredTable;

use channels::ChannelKind;
use providers::ProviderKind;

pub(crate) use providers::provider_names;

pub(crate) const PROVIDERS: &[ProviderKind] = &[
    ProviderKind::for_config::<avocet_llm::AnthropicConfig>(),
    ProviderKind::for_config::<avocet_llm::GeminiConfig>(),
    ProviderKind::for_config::<avocet_llm::OfflineConfig>(),
    ProviderKind::for_config::<avocet_llm::OllamaConfig>(),
    ProviderKind::for_config::<avocet_llm::OpenAiConfig>(),
];

pub(crate) const CHANNELS: &[ChannelKind] = &[
    ChannelKind::for_config::<avocet_directory::DirectoryConfig>(),
    #[cfg(feature = "discord")]
    ChannelKind::for_config::<avocet_discord::DiscordConfig>(),
    ChannelKind::for_config::<avocet_external::ExternalConfig>(),
    ChannelKind::for_config::<avocet_telegram::TelegramConfig>(),
    ChannelKind::for_config::<avocet_terminal::TerminalConfig>(),
];

/// Returns the names of the tools that a configuration may mention.
pub(crate) fn tool_names(context: &CommandContext) -> Result<Vec<String>, Failure> {
    let mut added = ToolRegistry::new(context.clock.clone());
    (context.otherwise.add_tools)(&mut added)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let mut names: Vec<String> =
        BUILT_IN.iter().copied().chain(added.tool_names()).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// Checks the tables of all components, as far as they were read.
pub(crate) fn check_components(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<(), ConfigError> {
    providers::check_providers(document, settings)?;
    channel_directories(document)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    make_channels(document, settings, &clock)?;
    services::check_services(document, settings, &clock)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
