//! The memories that agents, chats and the command line search: by words, and by meaning where the
//! configuration names an embedding model.

use std::sync::Arc;

use avocet_config::{ConfigError, Document, Settings};
use avocet_llm::EmbeddingsConfig;
use avocet_memory::{FusedMemories, MeteredEmbedder, WordRecall};
use avocet_protocol::{Clock, Memories, Recall};
use avocet_store::SqliteStore;

use crate::registry::{self, ConfiguredEmbedder};
use crate::{consolidation, models};

/// The memories of a log.
#[derive(Debug, Clone)]
pub(crate) struct SearchedMemories {
    pub(crate) memories: Arc<dyn Memories>,
    /// `None` if memories are compared by words alone.
    least_similarity: Option<f64>,
}

impl SearchedMemories {
    /// Compares words alone.
    pub(crate) fn by_words(store: &Arc<SqliteStore>) -> Self {
        Self { memories: store.clone(), least_similarity: None }
    }

    /// Compares vectors too, if there is an `[embeddings]` table.
    pub(crate) fn configured(
        document: &Document,
        settings: &Settings,
        store: &Arc<SqliteStore>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ConfigError> {
        let embedder = registry::embedder(document, settings, clock)?;
        let Some(ConfiguredEmbedder { embedder, least_similarity }) = embedder else {
            return Ok(Self::by_words(store));
        };
        let EmbeddingsConfig { provider, model, .. } = document.table("embeddings")?;
        let price = models::price(document, settings, &format!("{provider}/{model}"))?;
        let embedder = Arc::new(embedder.with_price(price));
        let budget = consolidation::upkeep(settings, store, clock);
        let embedder = Arc::new(MeteredEmbedder::new(embedder, budget));
        let fused = FusedMemories::new(store.clone(), store.clone(), embedder, clock.clone());
        Ok(Self { memories: Arc::new(fused), least_similarity: Some(least_similarity) })
    }

    pub(crate) fn recall(&self) -> Arc<dyn Recall> {
        let recall = WordRecall::new(self.memories.clone());
        Arc::new(match self.least_similarity {
            Some(least) => recall.or_similar(least),
            None => recall,
        })
    }
}
