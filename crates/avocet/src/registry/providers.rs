//! The kinds of providers, and the models of a configured provider.

use std::sync::Arc;

use avocet_config::{ConfigDocument, ConfigError, ConfigSettings};
use avocet_llm::{ConfiguredModel, EmbeddingsConfig, ProviderConfig, ServedEmbedder, SourcedFacts};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::ProviderNames;
use serde_json::Value;

use super::{PROVIDERS, key_error};

/// Makes a model of a provider.
type MakeModel =
    fn(&ConfigDocument, ModelSource<'_>, Arc<dyn Clock>) -> Result<ConfiguredModel, ConfigError>;

/// Makes an embedding model of the provider that its configuration names.
type MakeEmbedder = fn(
    &ConfigDocument,
    &EmbeddingsConfig,
    Arc<dyn Clock>,
) -> Result<Option<ServedEmbedder>, ConfigError>;

/// A kind of provider, made from its configuration's type.
pub(crate) struct ProviderKind {
    pub(crate) name: &'static str,
    check: fn(&ConfigDocument, &str) -> Result<(), ConfigError>,
    make: MakeModel,
    embedder: MakeEmbedder,
    /// The schema of its table.
    pub(crate) schema: fn() -> Value,
    #[cfg(test)]
    pub(crate) table: fn() -> super::DeclaredTable,
}

/// The parts of a model's name, and the operator's facts about it.
#[derive(Clone, Copy)]
struct ModelSource<'n> {
    provider: &'n str,
    model: &'n str,
    facts: SourcedFacts,
}

impl ProviderKind {
    pub(super) const fn for_config<C: ProviderConfig>() -> Self {
        Self {
            name: C::KIND,
            check: check_table::<C>,
            make: make_configured::<C>,
            embedder: make_embedder::<C>,
            schema: avocet_config::schema::<C>,
            #[cfg(test)]
            table: super::DeclaredTable::for_type::<C>,
        }
    }
}

/// Checks the tables of all providers, as far as they were read.
pub(super) fn check_providers(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<(), ConfigError> {
    let tables = settings.providers.keys().map(|provider| provider_path(provider));
    for path in tables.filter(|path| document.is_whole(path)) {
        (kind_of(document, &path)?.check)(document, &path)?;
    }
    Ok(())
}

/// Makes the model `model` of a provider, with the operator's facts about it.
pub(crate) fn make_model(
    document: &ConfigDocument,
    provider: &str,
    model: &str,
    facts: SourcedFacts,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredModel, ConfigError> {
    let kind = kind_of(document, &provider_path(provider))?;
    (kind.make)(document, ModelSource { provider, model, facts }, clock)
}

/// Makes the embedding model of a configuration. `None` if that kind of provider has no embeddings.
pub(super) fn served_embedder(
    document: &ConfigDocument,
    config: &EmbeddingsConfig,
    clock: Arc<dyn Clock>,
) -> Result<Option<ServedEmbedder>, ConfigError> {
    let kind = kind_of(document, &provider_path(&config.provider))?;
    (kind.embedder)(document, config, clock)
}

/// Makes a provider without a model's name, for probes.
pub(crate) fn unnamed_model(
    document: &ConfigDocument,
    provider: &str,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredModel, ConfigError> {
    make_model(document, provider, "", SourcedFacts::default(), clock)
}

/// Returns the names of all providers for telemetry.
pub(crate) fn provider_names(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> ProviderNames {
    let mut names = ProviderNames::default();
    for provider in settings.providers.keys() {
        let text =
            |key: &str| document.get(&format!("{}.{key}", provider_path(provider)))?.as_str();
        names.add_provider(provider, text("kind").unwrap_or_default(), text("base_url"));
    }
    names
}

fn provider_path(provider: &str) -> String {
    format!("providers.{provider}")
}

/// Returns the kind of the provider whose table is at `path`.
fn kind_of(document: &ConfigDocument, path: &str) -> Result<&'static ProviderKind, ConfigError> {
    let known = || PROVIDERS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let Some(kind) = document.get(&format!("{path}.kind")) else {
        let message = format!("[{path}] has no kind; the kinds are {}", known());
        return Err(document.error_at(path, message));
    };
    PROVIDERS.iter().find(|known| *kind == known.name).ok_or_else(|| {
        let path = format!("{path}.kind");
        let kind = kind.to_string();
        let kind = document.hide_reference(&path, &kind);
        let message = format!("`{path}`: there is no kind {kind}; the kinds are {}", known());
        document.error_at(&path, message)
    })
}

pub(super) fn read_table<C: ProviderConfig>(
    document: &ConfigDocument,
    path: &str,
) -> Result<C, ConfigError> {
    document.table_without(path, &["kind"])
}

fn check_table<C: ProviderConfig>(
    document: &ConfigDocument,
    path: &str,
) -> Result<(), ConfigError> {
    let config: C = read_table(document, path)?;
    config.check_config().map_err(|(key, error)| key_error(document, path, key, &error))
}

fn make_configured<C: ProviderConfig>(
    document: &ConfigDocument,
    source: ModelSource<'_>,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredModel, ConfigError> {
    let ModelSource { provider, model, facts } = source;
    let path = provider_path(provider);
    let config: C = read_table(document, &path)?;
    let model = config.create_model(provider, model, facts, clock);
    model.map_err(|error| document.error_at(&path, error.to_string()))
}

fn make_embedder<C: ProviderConfig>(
    document: &ConfigDocument,
    config: &EmbeddingsConfig,
    clock: Arc<dyn Clock>,
) -> Result<Option<ServedEmbedder>, ConfigError> {
    let path = provider_path(&config.provider);
    let table: C = read_table(document, &path)?;
    table
        .create_embedder(config, clock)
        .map_err(|error| document.error_at(&path, error.to_string()))
}
