//! The port of the available models.

use std::fmt;
use std::sync::Arc;

use crate::model::Model;

/// The models of the configuration. Each is built once and then shared.
pub trait Models: fmt::Debug + Send + Sync {
    /// Returns the model of this name (`provider/model`). If it gives no answer, the `fallbacks`
    /// are asked in their order.
    ///
    /// # Errors
    /// [`NoModel`] for the first unavailable one.
    fn model(&self, name: &str, fallbacks: &[String]) -> Result<Arc<dyn Model>, NoModel>;

    /// The names of the models that the configuration mentions, sorted. Providers may have others.
    fn configured(&self) -> Vec<String>;
}

/// The reason why a model is unavailable. Shown to the person who named it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// The name is malformed.
    #[error("{0:?} is not of the form provider/model")]
    Malformed(String),
    /// Its provider is not configured.
    #[error("there is no provider {provider:?}; there are {}", known.join(", "))]
    NoProvider {
        /// The provider in the name.
        provider: String,
        /// The configured providers.
        known: Vec<String>,
    },
    /// The provider's table in the configuration is invalid. The operator can fix it.
    #[error("{0}")]
    Unusable(String),
}
