//! The memories that agents, chats and the command line search: by words, and by meaning where the
//! configuration names an embedding model. Files mirror them, if the configuration enables that.

use std::sync::Arc;

use avocet_config::ConfigError;
use avocet_llm::EmbeddingsConfig;
use avocet_memory::{FileMirror, FusedMemories, MeteredEmbedder, MirroredRecall, WordRecall};
use avocet_protocol::clock::Clock;
use avocet_protocol::memory::{MemoryMirror, Recall};
use avocet_protocol::store::Memories;
use avocet_store::SqliteStore;
use avocet_supervise::Group;

use crate::components::{consolidation, models};
use crate::configuration::{Configuration, MEMORY_FILES};
use crate::registry::{self, ConfiguredEmbedder};

/// The memories of a log.
#[derive(Debug, Clone)]
pub(crate) struct SearchedMemories {
    pub(crate) memories: Arc<dyn Memories>,
    /// `None` if memories are compared by words alone.
    least_similarity: Option<f64>,
    mirror: Option<Arc<FileMirror>>,
}

impl SearchedMemories {
    /// Compares words alone, and leaves files as they are.
    pub(crate) fn by_words(store: &Arc<SqliteStore>) -> Self {
        Self { memories: store.clone(), least_similarity: None, mirror: None }
    }

    /// Compares vectors too, if there is an `[embeddings]` table.
    pub(crate) fn configured(
        configuration: &Configuration,
        store: &Arc<SqliteStore>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ConfigError> {
        let Configuration { document, settings, .. } = configuration;
        let words = Self { mirror: make_mirror(configuration, store), ..Self::by_words(store) };
        let embedder = registry::configured_embedder(document, settings, clock)?;
        let Some(ConfiguredEmbedder { embedder, least_similarity }) = embedder else {
            return Ok(words);
        };
        let EmbeddingsConfig { provider, model, .. } = document.table("embeddings")?;
        let price = models::configured_price(document, settings, &format!("{provider}/{model}"))?;
        let embedder = Arc::new(embedder.with_price(price));
        let budget = consolidation::open_meter(settings, store, clock);
        let embedder = Arc::new(MeteredEmbedder::new(embedder, budget));
        let fused = FusedMemories::new(store.clone(), store.clone(), embedder, clock.clone());
        let least_similarity = Some(least_similarity);
        Ok(Self { memories: Arc::new(fused), least_similarity, ..words })
    }

    pub(crate) fn recall(&self) -> Arc<dyn Recall> {
        let recall = WordRecall::new(self.memories.clone());
        let recall: Arc<dyn Recall> = Arc::new(match self.least_similarity {
            Some(least) => recall.or_similar(least),
            None => recall,
        });
        match &self.mirror {
            Some(mirror) => Arc::new(MirroredRecall::new(recall, mirror.clone())),
            None => recall,
        }
    }

    /// Keeps the files up to date until the group is cancelled.
    pub(crate) fn start_mirror(&self, group: &Group) {
        let Some(mirror) = self.mirror.clone() else { return };
        let stop = group.cancel_token();
        group.spawn("memory-mirror", async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = mirror.run() => {}
            }
        });
    }

    pub(crate) fn mirror(&self) -> Option<Arc<dyn MemoryMirror>> {
        self.mirror.clone().map(|mirror| mirror as Arc<dyn MemoryMirror>)
    }
}

/// Returns `true` if there may be edits of people.
pub(crate) fn has_files(configuration: &Configuration) -> bool {
    configuration.settings.memory.mirror && configuration.data_dir.join(MEMORY_FILES).is_dir()
}

/// Returns the files of a log; `None` if the configuration disables them.
pub(crate) fn make_mirror(
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
) -> Option<Arc<FileMirror>> {
    let directory = configuration.data_dir.join(MEMORY_FILES);
    let is_wanted = configuration.settings.memory.mirror;
    is_wanted.then(|| Arc::new(FileMirror::new(store.clone(), directory)))
}
