//! The port of the models that there are.

use std::fmt;
use std::sync::Arc;

use crate::Model;

/// The models of the configuration. Each is made once, however often it is asked for.
pub trait Models: fmt::Debug + Send + Sync {
    /// The model of this name (`provider/model`), and behind it those of `fallbacks`, which are asked in
    /// this order where it gives no answer.
    ///
    /// # Errors
    /// [`NoModel`] for the first that there is not.
    fn model(&self, name: &str, fallbacks: &[String]) -> Result<Arc<dyn Model>, NoModel>;

    /// The names of those that the configuration speaks of, sorted. There may be others: whatever their
    /// providers have.
    fn configured(&self) -> Vec<String>;
}

/// Why there is no such model. Whoever named it is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// It is no name of a model.
    #[error("{0:?} is not of the form provider/model")]
    Malformed(String),
    /// Its provider is not configured.
    #[error("there is no provider {provider:?}; there are {}", known.join(", "))]
    NoProvider {
        /// As it was named.
        provider: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The operator: the provider's table cannot be used.
    #[error("{0}")]
    Unusable(String),
}
