//! The models of a configuration with its facts about them; each model is made once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use avocet_config::{
    AgentProfile, ConfigDocument, ConfigError, ConfigSettings, TaskModels, read_profiles,
};
use avocet_llm::{
    ConfiguredModel, CoolDowns, ModelCatalogue, ModelChain, ModelConfig, ModelHealth, ModelTable,
    OfflineModel,
};
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{Model, Models as ModelsPort, NoModel, Price};
use parking_lot::Mutex;

use crate::components::catalogue;
use crate::configuration::Configuration;
use crate::registry;

/// The provider that exists without configuration.
const EMBEDDED: &str = "offline";

/// Checks the configuration's entries about models, and that their providers are configured.
pub(crate) fn check_models(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<(), ConfigError> {
    model_table(document, settings)?;
    let own = settings.memory.consolidation.model.clone();
    let own = own.map(|name| ("memory.consolidation.model".to_owned(), name));
    for (path, name) in named_models(&read_profiles(document)?).into_iter().chain(own) {
        check_name(settings, &name).map_err(|error| match error {
            NoModel::Malformed(_) => {
                let name = document.hide_reference(&path, &name);
                let message = format!("`{path}`: {name:?} is not of the form provider/model");
                document.error_at(&path, message)
            }
            error => no_provider(document, &path, error),
        })?;
    }
    Ok(())
}

/// The models of the configuration.
#[derive(Debug)]
pub(crate) struct Models {
    document: ConfigDocument,
    settings: ConfigSettings,
    configured: BTreeSet<String>,
    table: ModelTable,
    cool_downs: Arc<CoolDowns>,
    health: Arc<ModelHealth>,
    clock: Arc<dyn Clock>,
    /// The file of an updated catalogue, read for each model that is made. `None`: the shipped one.
    catalogue: Option<PathBuf>,
    /// The model in place of the embedded one.
    stand_in: Option<Arc<dyn Model>>,
    made: Mutex<BTreeMap<String, CachedModel>>,
}

/// A model that was made once.
#[derive(Debug, Clone)]
struct CachedModel {
    made: ConfiguredModel,
    /// The same model, with its requests recorded.
    watched: Arc<dyn Model>,
}

impl Models {
    /// Makes the models of a configuration, with the catalogue in its data directory.
    pub(crate) fn from_configuration(
        configuration: &Configuration,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ConfigError> {
        let Configuration { document, settings, data_dir, .. } = configuration;
        let models = Self::new(document, settings, clock)?;
        let catalogue = Some(catalogue::catalogue_path(data_dir));
        Ok(Self { catalogue, stand_in: configuration.stand_in.clone(), ..models })
    }

    fn new(
        document: &ConfigDocument,
        settings: &ConfigSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ConfigError> {
        let named = named_models(&read_profiles(document)?).into_iter().map(|(_, name)| name);
        let own = settings.memory.consolidation.model.clone();
        let described = settings.models.keys().filter(|name| !name.contains('*')).cloned();
        Ok(Self {
            document: document.clone(),
            settings: settings.clone(),
            configured: named.chain(own).chain(described).collect(),
            table: model_table(document, settings)?,
            cool_downs: Arc::new(CoolDowns::new(clock.clone())),
            health: Arc::new(ModelHealth::new(clock.clone())),
            clock,
            catalogue: None,
            stand_in: None,
            made: Mutex::default(),
        })
    }

    /// Returns the model of this name, without fallbacks.
    pub(crate) fn find_model(&self, name: &str) -> Result<ConfiguredModel, NoModel> {
        self.cached_model(name).map(|kept| kept.made)
    }

    /// Makes the model of this name anew, for a check that changes its settings.
    pub(crate) fn make_separate(&self, name: &str) -> Result<ConfiguredModel, NoModel> {
        let (provider, model) = check_name(&self.settings, name)?;
        let made = self.make_model(name, provider, model);
        made.map_err(|error| NoModel::Unusable(error.to_string()))
    }

    /// Returns the health of the providers.
    pub(crate) fn health(&self) -> &Arc<ModelHealth> {
        &self.health
    }

    fn cached_model(&self, name: &str) -> Result<CachedModel, NoModel> {
        let (provider, model) = check_name(&self.settings, name)?;
        let mut made = self.made.lock();
        if let Some(kept) = made.get(name) {
            return Ok(kept.clone());
        }
        let model = self.make_model(name, provider, model);
        let model = model.map_err(|error| NoModel::Unusable(error.to_string()))?;
        let watched = match model.clone() {
            ConfiguredModel::Embedded(model) => model,
            ConfiguredModel::Served(model) => self.health.watch_model(model),
        };
        let kept = CachedModel { made: model, watched };
        made.insert(name.to_owned(), kept.clone());
        Ok(kept)
    }

    fn make_model(
        &self,
        name: &str,
        provider: &str,
        model: &str,
    ) -> Result<ConfiguredModel, ConfigError> {
        if is_embedded(&self.settings, provider) {
            let model = self.stand_in.clone();
            let model = model.unwrap_or_else(|| Arc::new(OfflineModel::new(self.clock.clone())));
            return Ok(ConfiguredModel::Embedded(model));
        }
        let facts = self.table.facts_of(name);
        let made =
            registry::make_model(&self.document, provider, model, facts, self.clock.clone())?;
        Ok(match (made, &self.catalogue) {
            (ConfiguredModel::Served(model), Some(_)) => {
                ConfiguredModel::Served(Arc::new(model.with_catalogue(&self.catalogue())))
            }
            (made, _) => made,
        })
    }

    /// Reads the catalogue of models.
    pub(crate) fn catalogue(&self) -> ModelCatalogue {
        self.catalogue.as_deref().map_or_else(ModelCatalogue::default, catalogue::read)
    }
}

impl ModelsPort for Models {
    fn model(&self, name: &str, fallbacks: &[String]) -> Result<Arc<dyn Model>, NoModel> {
        let first = self.cached_model(name)?.watched;
        let others = fallbacks.iter().filter(|other| *other != name);
        let others = others.map(|other| Ok(self.cached_model(other)?.watched));
        let others: Vec<_> = others.collect::<Result<_, _>>()?;
        if others.is_empty() {
            return Ok(first);
        }
        Ok(Arc::new(ModelChain::new(first, others, self.cool_downs.clone())))
    }

    fn configured(&self) -> Vec<String> {
        self.configured.iter().cloned().collect()
    }
}

/// Returns the price of a model from `[models]`; `None` if it is unknown.
pub(crate) fn configured_price(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    name: &str,
) -> Result<Option<Price>, ConfigError> {
    Ok(model_table(document, settings)?.facts_of(name).price)
}

/// Returns every model that an agent names, with the path of its key.
fn named_models(profiles: &[AgentProfile]) -> Vec<(String, String)> {
    let of = |profile: &AgentProfile| {
        let agent = &profile.agent;
        let path = |key: &str| profile.path(key);
        let mut named = vec![(path("model"), agent.model.clone())];
        let fallbacks = agent.fallbacks.iter().enumerate();
        named.extend(
            fallbacks.map(|(place, name)| (path(&format!("fallbacks[{place}]")), name.clone())),
        );
        named.extend(agent.cheap_model.clone().map(|name| (path("cheap_model"), name)));
        let TaskModels { vision, long, code, .. } = &agent.models;
        for (task, name) in [("vision", vision), ("long", long), ("code", code)] {
            named.extend(name.clone().map(|name| (path(&format!("models.{task}")), name)));
        }
        named
    };
    profiles.iter().flat_map(of).collect()
}

/// Splits `provider/model`, and checks that the provider exists.
fn check_name<'n>(settings: &ConfigSettings, name: &'n str) -> Result<(&'n str, &'n str), NoModel> {
    let parts = name.split_once('/').filter(|(provider, model)| {
        let is_word = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
        is_word(provider) && is_word(model)
    });
    let (provider, model) = parts.ok_or_else(|| NoModel::Malformed(name.to_owned()))?;
    if !settings.providers.contains_key(provider) && !is_embedded(settings, provider) {
        let known: BTreeSet<&str> =
            settings.providers.keys().map(String::as_str).chain([EMBEDDED]).collect();
        let known = known.into_iter().map(str::to_owned).collect();
        return Err(NoModel::NoProvider { provider: provider.to_owned(), known });
    }
    Ok((provider, model))
}

fn is_embedded(settings: &ConfigSettings, provider: &str) -> bool {
    provider == EMBEDDED && !settings.providers.contains_key(provider)
}

/// Creates the error for an unknown provider. A name that came from a reference is hidden.
fn no_provider(document: &ConfigDocument, path: &str, error: NoModel) -> ConfigError {
    let NoModel::NoProvider { provider, known } = error else {
        return document.error_at(path, format!("`{path}`: {error}"));
    };
    let provider = document.hide_reference(path, &provider);
    let known = known.join(", ");
    let message = format!(
        "`{path}`: there is no provider {provider:?}; there are {known}. Add a table \
         [providers.{provider}]"
    );
    document.error_at(path, message)
}

/// Reads `[models]`.
fn model_table(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<ModelTable, ConfigError> {
    let tables = settings.models.keys().map(|name| {
        let path = format!("models.{name}");
        check_pattern(document, settings, &path, name)?;
        let config: ModelConfig = document.table(&path)?;
        config.check_values().map_err(|(key, error)| {
            let path = format!("{path}.{key}");
            document.error_at(&path, format!("`{path}`: {error}"))
        })?;
        Ok((name.clone(), config))
    });
    tables.collect()
}

/// Checks that a pattern in `[models]` can fit a model.
fn check_pattern(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    path: &str,
    name: &str,
) -> Result<(), ConfigError> {
    let provider = name.split('/').next().unwrap_or_default();
    if provider.contains('*') {
        return Ok(());
    }
    check_name(settings, name).map(|_| ()).map_err(|error| match error {
        NoModel::Malformed(_) => document.error_at(path, format!("`{path}`: {error}")),
        error => no_provider(document, path, error),
    })
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
