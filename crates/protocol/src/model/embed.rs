//! The port for embeddings: texts as vectors, so that a search finds related words too.

use std::fmt;

use async_trait::async_trait;

use crate::model::{Price, Spent};

/// Turns texts into vectors. Texts with a similar meaning get vectors with a similar direction.
#[async_trait]
pub trait Embedder: fmt::Debug + Send + Sync {
    /// The provider and the model, as `local/nomic-embed-text`. Vectors of different models cannot
    /// be compared.
    fn name(&self) -> &str;

    /// The price of its tokens; `None` if unknown.
    fn price(&self) -> Option<Price> {
        None
    }

    /// Turns each text into a vector.
    ///
    /// # Errors
    /// [`EmbedError`]; its variant says if a retry can help.
    async fn embed(&self, texts: &[String]) -> Result<EmbeddedTexts, EmbedError>;
}

/// The answer of an [`Embedder`].
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedTexts {
    /// One vector for each text, in the order of the texts. All have the same length.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens that were read, and their cost.
    pub spent: Spent,
}

/// The reason why a text was not turned into a vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The request was refused. The operator has to change something.
    #[error("{0}")]
    Refused(String),
    /// The request failed, or the answer is malformed. A retry can help.
    #[error("{0}")]
    Failed(String),
}
