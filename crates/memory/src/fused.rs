//! Search by words and by meaning: the memories whose words match, and those whose vector is near that
//! of the query.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::model::Embedder;
use avocet_protocol::store::{
    FoundMemory, Memories, Memory, MemoryAuthor, MemoryChange, MemoryScope, MemoryVector,
    MemoryVectors, NewMemory, ScopeFilter, StoreError, UndoneChange, WordCounts, WrittenMemory,
};
use avocet_text::match_query;
use parking_lot::Mutex;

use crate::words;

/// Number of memories of each kind that are fused.
const CANDIDATES: u32 = 30;
/// The constant of reciprocal rank fusion: a larger one lets lower ranks count more (Cormack, Clarke
/// and Büttcher, "Reciprocal Rank Fusion").
const RANK_OFFSET: f64 = 60.0;
/// Number of memories that one request turns into vectors, in addition to the query.
const MISSING_A_REQUEST: u32 = 63;
/// A search adds at most this number of batches; the next search goes on.
const MOST_REQUESTS: usize = 4;
/// A search waits for vectors at most this long, because a turn waits for the search.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after a failure, in which searches compare words alone.
const PAUSE: Duration = Duration::from_mins(1);

/// Memories whose search compares vectors, too. Everything else is as in the memories below it.
#[derive(Debug)]
pub struct FusedMemories {
    memories: Arc<dyn Memories>,
    vectors: Arc<dyn MemoryVectors>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    /// The time of the clock until which no vector is requested.
    paused_until: Mutex<Duration>,
}

impl FusedMemories {
    /// Searches these memories by words and by the vectors of this model.
    #[must_use]
    pub fn new(
        memories: Arc<dyn Memories>,
        vectors: Arc<dyn MemoryVectors>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { memories, vectors, embedder, clock, paused_until: Mutex::default() }
    }

    /// Returns the nearest memories; empty if there are no vectors now.
    async fn nearest_memories(&self, scopes: &ScopeFilter, query: &str) -> Vec<FoundMemory> {
        if self.clock.elapsed() < *self.paused_until.lock() {
            return Vec::new();
        }
        let asked = within(self.clock.as_ref(), PATIENCE, self.query_vector(query)).await;
        let asked = asked.unwrap_or_else(|elapsed| Err(elapsed.to_string()));
        let found = match asked {
            Ok(vector) => {
                let found =
                    self.vectors.nearest(scopes, self.embedder.name(), &vector, CANDIDATES).await;
                found.map_err(|error| error.to_string())
            }
            Err(error) => Err(error),
        };
        found.unwrap_or_else(|error| {
            let pause = PAUSE.as_secs();
            tracing::warn!(
                "cannot search memories by meaning: {error}; searching by words alone for {pause} s"
            );
            *self.paused_until.lock() = self.clock.elapsed() + PAUSE;
            Vec::new()
        })
    }

    /// Returns the vector of a query. Its request also makes vectors for memories without one.
    async fn query_vector(&self, query: &str) -> Result<Vec<f32>, String> {
        let mut of_query = None;
        for _ in 0..MOST_REQUESTS {
            let missing =
                self.vectors.without_vector(self.embedder.name(), MISSING_A_REQUEST).await;
            let missing = missing.map_err(|error| error.to_string())?;
            let mut texts: Vec<String> = missing.iter().map(|memory| memory.text.clone()).collect();
            if of_query.is_none() {
                texts.push(query.to_owned());
            }
            if texts.is_empty() {
                break;
            }
            let made = self.embedder.embed(&texts).await.map_err(|error| error.to_string())?;
            let mut made = made.vectors.into_iter();
            self.add_vectors(&missing, made.by_ref().take(missing.len()).collect()).await?;
            of_query = of_query.or_else(|| made.next());
            if missing.len() < MISSING_A_REQUEST as usize {
                break;
            }
        }
        of_query.ok_or_else(|| "the query got no vector".to_owned())
    }

    async fn add_vectors(&self, memories: &[Memory], vectors: Vec<Vec<f32>>) -> Result<(), String> {
        if memories.is_empty() {
            return Ok(());
        }
        let vectors = memories.iter().zip(vectors).map(|(memory, vector)| MemoryVector {
            memory: memory.id,
            revision: memory.revision,
            vector,
        });
        let added = self.vectors.add_vectors(self.embedder.name(), vectors.collect()).await;
        added.map_err(|error| error.to_string())
    }
}

/// Orders memories by reciprocal rank: each list gives its memories points, most to the first.
fn fuse_by_rank(words: Vec<FoundMemory>, near: Vec<FoundMemory>, limit: u32) -> Vec<FoundMemory> {
    let points = |place: u32| 1.0 / (RANK_OFFSET + f64::from(place));
    let mut fused: Vec<(f64, FoundMemory)> =
        words.into_iter().zip(1..).map(|(found, place)| (points(place), found)).collect();
    for (found, place) in near.into_iter().zip(1..) {
        match fused.iter_mut().find(|(_, other)| other.memory.id == found.memory.id) {
            Some((sum, both)) => {
                *sum += points(place);
                both.similarity = found.similarity;
            }
            None => fused.push((points(place), found)),
        }
    }
    // The sort is stable: among equals, a match of words comes first.
    fused.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    fused.into_iter().map(|(_, found)| found).take(limit as usize).collect()
}

#[async_trait]
impl Memories for FusedMemories {
    async fn search_memories(
        &self,
        scopes: &ScopeFilter,
        query: &str,
        limit: u32,
    ) -> Result<Vec<FoundMemory>, StoreError> {
        if match_query(query).is_none() {
            return self.memories.search_memories(scopes, query, limit).await;
        }
        // Words like "about" match many memories, and would push related ones down.
        let telling = words::telling_words(query).join(" ");
        let words = if telling.is_empty() { query } else { &telling };
        let words = self.memories.search_memories(scopes, words, limit.max(CANDIDATES)).await?;
        let near = self.nearest_memories(scopes, query).await;
        Ok(fuse_by_rank(words, near, limit))
    }

    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        self.memories.memory(id).await
    }

    async fn same_memory(
        &self,
        scope: &MemoryScope,
        text: &str,
    ) -> Result<Option<Memory>, StoreError> {
        self.memories.same_memory(scope, text).await
    }

    async fn memory_words(&self, words: &[String]) -> Result<WordCounts, StoreError> {
        self.memories.memory_words(words).await
    }

    async fn memory_changes(
        &self,
        scopes: &ScopeFilter,
        memory: Option<MemoryId>,
        limit: u32,
    ) -> Result<Vec<MemoryChange>, StoreError> {
        self.memories.memory_changes(scopes, memory, limit).await
    }

    async fn write_memory(
        &self,
        new: &NewMemory,
        author: &MemoryAuthor,
    ) -> Result<WrittenMemory, StoreError> {
        self.memories.write_memory(new, author).await
    }

    async fn forget_memory(&self, id: MemoryId, author: &MemoryAuthor) -> Result<bool, StoreError> {
        self.memories.forget_memory(id, author).await
    }

    async fn undo_memory_change(
        &self,
        change: MemoryChangeId,
        author: &MemoryAuthor,
    ) -> Result<UndoneChange, StoreError> {
        self.memories.undo_memory_change(change, author).await
    }
}

#[cfg(test)]
#[path = "fused_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "quality_tests.rs"]
mod quality;
