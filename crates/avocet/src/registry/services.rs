//! Builds and checks the components that have one table each in the configuration: transcriber,
//! speaker, embedding model, web search, MCP servers, HTTP interface, webhooks, exporter of traces.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_config::{ConfigDocument, ConfigError, ConfigSettings};
use avocet_http::{HookConfig, HookPlan, HttpConfig, HttpPlan, hook_plans};
use avocet_llm::{
    AudioHealth, EmbeddingsConfig, ServedEmbedder, SpeechConfig, SpeechEndpoint,
    TranscriptionConfig, TranscriptionEndpoint,
};
use avocet_mcp::McpServerConfig;
use avocet_net::{BadHost, OpenedHosts};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::Transcribe;
use avocet_session::SpokenAnswers;
#[cfg(feature = "telemetry")]
use avocet_telemetry::TelemetryConfig;
use avocet_text::Secret;
use avocet_tools::SearchConfig;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{key_error, providers};
#[cfg(not(feature = "telemetry"))]
use crate::parts::describe_left_out;

const SPEECH: &str = "speech";
const TRANSCRIPTION: &str = "transcription";
const EMBEDDINGS: &str = "embeddings";
pub(super) const HTTP: &str = "http";
const HOOKS: &str = "hooks";
const TELEMETRY: &str = "telemetry";
pub(crate) const WEB_SEARCH: &str = "tools.web_search";
pub(crate) const MCP_SERVERS: &str = "tools.mcp_servers";

/// Checks the tables that were read.
pub(super) fn check_services(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: &Arc<dyn Clock>,
) -> Result<(), ConfigError> {
    transcription_config(document, settings)?;
    speech_config(document, settings)?;
    configured_embedder(document, settings, clock)?;
    web_search(document, settings)?;
    open_hosts(document, settings)?;
    http_plan(document, settings)?;
    #[cfg(feature = "telemetry")]
    telemetry_config(document, settings)?;
    #[cfg(not(feature = "telemetry"))]
    refuse_telemetry(document, settings)?;
    mcp_servers(document, settings)?;
    Ok(())
}

/// Makes the transcriber, if one is configured. Its requests are recorded in `health`.
pub(crate) fn make_transcriber(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: Arc<dyn Clock>,
    health: Arc<AudioHealth>,
) -> Result<Option<Arc<dyn Transcribe>>, ConfigError> {
    let Some(mut transcription) = transcription_endpoint(document, settings, clock)? else {
        return Ok(None);
    };
    transcription.record_in(health);
    Ok(Some(Arc::new(transcription)))
}

/// Works as [`make_transcriber`], but returns the concrete type.
pub(crate) fn transcription_endpoint(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: Arc<dyn Clock>,
) -> Result<Option<TranscriptionEndpoint>, ConfigError> {
    let Some(config) = transcription_config(document, settings)? else { return Ok(None) };
    let transcription = TranscriptionEndpoint::new(config, clock);
    transcription.map(Some).map_err(|error| document.error_at(TRANSCRIPTION, error.to_string()))
}

fn transcription_config(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Option<TranscriptionConfig>, ConfigError> {
    let is_configured = settings.transcription.is_some();
    checked_table(document, TRANSCRIPTION, is_configured, TranscriptionConfig::check_values)
}

/// Makes the settings of spoken answers, if a speaker is configured. Its requests are recorded in
/// `health`.
pub(crate) fn spoken_answers(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: Arc<dyn Clock>,
    health: Arc<AudioHealth>,
) -> Result<Option<SpokenAnswers>, ConfigError> {
    let Some(mut speech) = speech_endpoint(document, settings, clock)? else { return Ok(None) };
    speech.record_in(health);
    Ok(Some(SpokenAnswers { when: speech.voice_mode(), speak: Arc::new(speech) }))
}

/// Makes the speaker, if one is configured.
pub(crate) fn speech_endpoint(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: Arc<dyn Clock>,
) -> Result<Option<SpeechEndpoint>, ConfigError> {
    let Some(config) = speech_config(document, settings)? else { return Ok(None) };
    let speech = SpeechEndpoint::new(config, clock);
    speech.map(Some).map_err(|error| document.error_at(SPEECH, error.to_string()))
}

fn speech_config(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Option<SpeechConfig>, ConfigError> {
    checked_table(document, SPEECH, settings.speech.is_some(), SpeechConfig::check_values)
}

/// Reads a table and checks its values; `None` if it is missing or was not read.
fn checked_table<C: DeserializeOwned + JsonSchema>(
    document: &ConfigDocument,
    table: &str,
    is_configured: bool,
    check_values: fn(&C) -> Result<(), (&'static str, String)>,
) -> Result<Option<C>, ConfigError> {
    if !is_configured || !document.is_whole(table) {
        return Ok(None);
    }
    let config: C = document.table(table)?;
    check_values(&config).map_err(|(key, error)| key_error(document, table, key, &error))?;
    Ok(Some(config))
}

/// The embedding model of the configuration.
pub(crate) struct ConfiguredEmbedder {
    pub(crate) embedder: ServedEmbedder,
    pub(crate) least_similarity: f64,
}

/// Makes the embedding model, if one is configured and its provider's table was read.
pub(crate) fn configured_embedder(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Option<ConfiguredEmbedder>, ConfigError> {
    let is_configured = settings.embeddings.is_some();
    let config =
        checked_table(document, EMBEDDINGS, is_configured, EmbeddingsConfig::check_values)?;
    let Some(config) = config else { return Ok(None) };
    let wrong = |key: &str, error: &str| key_error(document, EMBEDDINGS, key, error);
    let EmbeddingsConfig { provider, least_similarity, .. } = &config;
    if !settings.providers.contains_key(provider) {
        return Err(wrong("provider", &format!("there is no table [providers.{provider}]")));
    }
    if !document.is_whole(&format!("providers.{provider}")) {
        return Ok(None);
    }
    let made = providers::served_embedder(document, &config, clock.clone())?;
    let Some(embedder) = made else {
        let error =
            format!("the provider {provider} has no embeddings; use one of kind openai or ollama");
        return Err(wrong("provider", &error));
    };
    Ok(Some(ConfiguredEmbedder { embedder, least_similarity: *least_similarity }))
}

/// Reads the configuration of the web search, if there is one.
pub(crate) fn web_search(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Option<SearchConfig>, ConfigError> {
    if settings.tools.web_search.is_none() || !document.is_whole(WEB_SEARCH) {
        return Ok(None);
    }
    let config: SearchConfig = document.table(WEB_SEARCH)?;
    config.check_values().map_err(|(key, error)| {
        let path = format!("{WEB_SEARCH}.{key}");
        let place = if document.get(&path).is_some() { &path } else { WEB_SEARCH };
        document.error_at(place, format!("`{path}`: {error}"))
    })?;
    Ok(Some(config))
}

/// Returns the MCP servers whose tables were read, by name.
pub(crate) fn mcp_servers(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<BTreeMap<String, McpServerConfig>, ConfigError> {
    let mut servers = BTreeMap::new();
    for name in settings.tools.mcp_servers.keys() {
        let path = format!("{MCP_SERVERS}.{name}");
        McpServerConfig::check_name(name)
            .map_err(|error| document.error_at(&path, format!("`{path}`: {error}")))?;
        if !document.is_whole(&path) {
            continue;
        }
        let config: McpServerConfig = document.table(&path)?;
        config.check_values().map_err(|(key, error)| key_error(document, &path, key, &error))?;
        opened_hosts(document, &format!("{path}.hosts"), &config.hosts)?;
        servers.insert(name.clone(), config);
    }
    Ok(servers)
}

/// Returns the hosts that programs may reach.
pub(crate) fn open_hosts(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<OpenedHosts, ConfigError> {
    opened_hosts(document, "sandbox.hosts", &settings.sandbox.hosts)
}

/// Reads the list of hosts at a path.
pub(crate) fn opened_hosts(
    document: &ConfigDocument,
    path: &str,
    entries: &[String],
) -> Result<OpenedHosts, ConfigError> {
    OpenedHosts::parse_entries(entries).map_err(|BadHost { number, entry, why }| {
        let path = format!("{path}[{number}]");
        let entry = document.hide_reference(&path, &entry);
        document.error_at(&path, format!("`{path}`: {entry:?} is not valid: {why}"))
    })
}

/// Returns the plan of the HTTP interface with its webhooks; `None` if it is off or its table was
/// not read. Secrets that were left out have a placeholder each.
pub(crate) fn http_plan(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Option<HttpPlan>, ConfigError> {
    let hooks = plan_hooks(document, settings)?;
    if !document.is_whole(HTTP) {
        return Ok(None);
    }
    let mut config: HttpConfig = document.table(HTTP)?;
    for (place, (name, client)) in config.tokens.iter_mut().enumerate() {
        if document.is_unresolved(&format!("{HTTP}.tokens.{name}.token")) {
            client.token = Some(placeholder_secret(place));
        }
    }
    let plan =
        config.plan().map_err(|error| key_error(document, HTTP, &error.key, &error.message))?;
    if let (None, Some(hook)) = (&plan, settings.hooks.keys().next()) {
        let message = "a webhook needs the HTTP interface: set `listen` in [http]";
        return Err(key_error(document, HOOKS, hook, message));
    }
    Ok(plan.map(|plan| plan.with_hooks(hooks)))
}

/// Returns `true` if the HTTP interface has an address.
pub(super) fn has_http(document: &ConfigDocument) -> bool {
    document.get(&format!("{HTTP}.listen")).is_some()
}

/// Returns the webhooks whose tables were read.
fn plan_hooks(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Vec<HookPlan>, ConfigError> {
    let mut configs = BTreeMap::new();
    for (place, name) in settings.hooks.keys().enumerate() {
        let path = format!("{HOOKS}.{name}");
        if !document.is_whole(&path) {
            continue;
        }
        let mut config: HookConfig = document.table(&path)?;
        if document.is_unresolved(&format!("{path}.secret")) {
            config.secret = Some(placeholder_secret(place));
        }
        configs.insert(name.clone(), config);
    }
    hook_plans(&configs).map_err(|error| {
        let path = format!("{HOOKS}.{}", error.key);
        // A missing key has no place in the file, but its table has.
        let table = path.rsplit_once('.').map_or(HOOKS, |(table, _)| table);
        let place = if document.get(&path).is_some() { &path } else { table };
        document.error_at(place, format!("`{path}`: {}", error.message))
    })
}

/// Returns the configuration of the exporter of traces; `None` if the exporter is off, or if its
/// table was not read.
#[cfg(feature = "telemetry")]
pub(crate) fn telemetry_config(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Option<TelemetryConfig>, ConfigError> {
    if settings.telemetry.is_none() || !document.is_whole(TELEMETRY) {
        return Ok(None);
    }
    let config: TelemetryConfig = document.table(TELEMETRY)?;
    config.check_values().map_err(|(key, error)| {
        let path = format!("{TELEMETRY}.{key}");
        // A missing key has no place in the file, but its table has.
        let place = if document.get(&path).is_some() { &path } else { TELEMETRY };
        document.error_at(place, format!("`{path}`: {error}"))
    })?;
    Ok(Some(config))
}

/// Refuses the table of the exporter of traces.
#[cfg(not(feature = "telemetry"))]
fn refuse_telemetry(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<(), ConfigError> {
    match settings.telemetry {
        Some(_) => Err(document.error_at(TELEMETRY, describe_left_out(TELEMETRY))),
        None => Ok(()),
    }
}

/// Returns a placeholder for a secret that was left out, so that the other keys can be checked.
fn placeholder_secret(place: usize) -> Secret {
    Secret::new(format!("unresolved-secret-{place}"))
}
