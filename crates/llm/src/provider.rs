//! The trait that every provider's configuration implements: check the values, create a model.

use std::fmt;
use std::sync::Arc;

use avocet_net::{NetError, check_public_url, check_url};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::Model;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{EmbeddingsConfig, KnownModel, ServedEmbedder, SourcedFacts};

/// A provider's table in the configuration, without its key `kind`. Every key has a default.
pub trait ProviderConfig: DeserializeOwned + JsonSchema + fmt::Debug {
    /// The value of the table's key `kind`.
    const KIND: &'static str;

    /// Checks that the configuration can be used.
    ///
    /// # Errors
    /// The key with an unusable value, and the reason.
    fn check_config(&self) -> Result<(), (&'static str, String)>;

    /// Creates the model `model` of the provider that the configuration calls `provider`. `facts`
    /// are the operator's facts about this model, from `[models]`.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    fn create_model(
        self,
        provider: &str,
        model: &str,
        facts: SourcedFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<ConfiguredModel, NetError>;

    /// Creates the embedding model of a configuration. `None` if this kind of provider has no
    /// embeddings.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    fn create_embedder(
        self,
        config: &EmbeddingsConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<ServedEmbedder>, NetError> {
        let (_, _) = (config, clock);
        Ok(None)
    }
}

/// A model as its provider has made it from the configuration.
#[derive(Debug, Clone)]
pub enum ConfiguredModel {
    /// A model in this program: there is no server to probe.
    Embedded(Arc<dyn Model>),
    /// A model behind a server, with the known facts about it.
    Served(Arc<KnownModel>),
}

impl From<KnownModel> for ConfiguredModel {
    fn from(model: KnownModel) -> Self {
        Self::Served(Arc::new(model))
    }
}

/// The addresses that requests may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllowedReach {
    /// All addresses, for a server that the operator trusts.
    Everywhere,
    /// Public addresses only, for an untrusted server.
    PublicOnly,
}

/// The ends of addresses that the documentation of providers shows, and that requests of kind
/// `openai` add themselves. The longest comes first.
pub(crate) const OPENAI_PATHS: [&str; 7] = [
    "/chat/completions",
    "/audio/transcriptions",
    "/audio/speech",
    "/completions",
    "/embeddings",
    "/responses",
    "/models",
];

/// Checks that requests can be sent to the URL at the key `base_url`. `added_paths` are the paths
/// that requests add to it.
///
/// # Errors
/// The key, and the reason. The reason names the URL to write, if the given one ends with a path
/// of `added_paths`.
pub(crate) fn check_base_url(
    url: &str,
    reach: AllowedReach,
    added_paths: &[&str],
) -> Result<(), (&'static str, String)> {
    let checked = match reach {
        AllowedReach::Everywhere => check_url(url),
        AllowedReach::PublicOnly => check_public_url(url),
    };
    checked.map_err(|error| ("base_url", error.to_string()))?;
    let address = url.trim_end_matches('/');
    let added = |path: &&str| address.strip_suffix(*path).map(|base| (base, path.to_string()));
    match added_paths.iter().find_map(added) {
        Some((base, path)) => Err(("base_url", format!("leave out {path}: write \"{base}\""))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
