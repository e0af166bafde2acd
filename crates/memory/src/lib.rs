//! Finds the memories that are relevant to a turn. Most turns need no memory, so a memory is
//! recalled only if it shares distinctive words with the request, or if its vector is very near. A
//! person can read and edit all memories in Markdown files, and a model consolidates them.

mod consolidator;
mod fused;
mod metered;
mod mirror;
mod tidy_plan;
mod words;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::memory::{Recall, RecalledMemory};
use avocet_protocol::model::estimated_tokens;
use avocet_protocol::store::{
    FoundMemory, Memories, MemoryScope, ScopeFilter, StoreError, WordCounts,
};
use avocet_text::index_text;

/// Number of memories that are read for a choice.
const CANDIDATES: u32 = 30;
/// The most memories that a turn gets.
const MOST: usize = 8;
/// Part of the best score that another memory needs.
const LEAST_SHARE: f64 = 0.35;
/// Up to this number of telling words in a request, one of them is enough; else two are needed.
const SHORT_REQUEST: usize = 6;
/// From this number of memories on, a word that more than half of them contain tells nothing.
const ENOUGH_TO_COUNT: u64 = 8;
/// A turn compares about this many memories, if some of its words are rare enough to choose them.
const COMPARED: u64 = 200;
/// Tokens of the remark around the memories, and of the id, scope and date of each.
const REMARK_TOKENS: u64 = 40;
const LINE_TOKENS: u64 = 16;

pub use consolidator::{ConsolidatorLimits, ConsolidatorParts, MarkUntrusted, MemoryConsolidator};
pub use fused::FusedMemories;
pub use metered::MeteredEmbedder;
pub use mirror::{FileMirror, MirroredRecall};

/// Recalls memories by the words that they share with the request, and by their vectors where the
/// memories have them.
#[derive(Debug, Clone)]
pub struct WordRecall {
    memories: Arc<dyn Memories>,
    least_similarity: f64,
}

impl WordRecall {
    /// Recalls by common words only, until [`Self::or_similar`] allows vectors.
    #[must_use]
    pub fn new(memories: Arc<dyn Memories>) -> Self {
        Self { memories, least_similarity: f64::INFINITY }
    }

    /// Recalls a memory without a common word, too, if the cosine of the angle between the vectors
    /// is at least this.
    #[must_use]
    pub fn or_similar(self, least_similarity: f64) -> Self {
        Self { least_similarity, ..self }
    }
}

#[async_trait]
impl Recall for WordRecall {
    async fn recall(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        budget_tokens: u64,
    ) -> Result<Vec<RecalledMemory>, StoreError> {
        let telling = words::telling_words(query);
        if telling.is_empty() || budget_tokens <= REMARK_TOKENS {
            return Ok(Vec::new());
        }
        let counts = self.memories.memory_words(&telling).await?;
        let telling = without_common(telling, &counts);
        if telling.is_empty() {
            return Ok(Vec::new());
        }
        let only = ScopeFilter::Only(scopes.to_vec());
        let query = rarest_words(&telling).join(" ");
        let found = self.memories.search_memories(&only, &query, CANDIDATES).await?;
        let found = relevant_memories(found, &telling, self.least_similarity);
        Ok(within_budget(found, budget_tokens))
    }
}

/// A telling word of a request.
struct CountedWord {
    word: String,
    /// Number of memories that contain it.
    containing: u64,
}

fn without_common(telling: Vec<String>, counts: &WordCounts) -> Vec<CountedWord> {
    let is_common = |containing: u64| {
        counts.memories >= ENOUGH_TO_COUNT && containing.saturating_mul(2) > counts.memories
    };
    let counted = telling.into_iter().zip(&counts.containing);
    counted
        .filter(|(_, containing)| !is_common(**containing))
        .map(|(word, &containing)| CountedWord { word, containing })
        .collect()
}

/// Returns the rarest words that [`COMPARED`] memories contain together. The time of a search grows
/// with the memories that contain one of its words, and the rare words decide the order anyway. If no
/// memory contains a rare word, all words are returned, because two frequent ones in the same memory
/// tell something too.
fn rarest_words(telling: &[CountedWord]) -> Vec<&str> {
    let mut by_number: Vec<&CountedWord> = telling.iter().collect();
    by_number.sort_by_key(|counted| counted.containing);
    let mut compared = 0;
    let are_few = |counted: &&&CountedWord| {
        compared += counted.containing;
        compared <= COMPARED
    };
    let rare: Vec<&CountedWord> = by_number.iter().take_while(are_few).copied().collect();
    let is_enough = rare.iter().any(|counted| counted.containing > 0);
    let chosen = if is_enough { rare } else { by_number };
    chosen.into_iter().map(|counted| counted.word.as_str()).collect()
}

/// Returns the memories with a good score and enough of the telling words.
fn relevant_memories(
    found: Vec<FoundMemory>,
    telling: &[CountedWord],
    least_similarity: f64,
) -> Vec<FoundMemory> {
    let best = found.iter().map(|found| found.score).fold(0.0, f64::max);
    let needed = if telling.len() > SHORT_REQUEST { 2 } else { 1 };
    let is_relevant = |found: &FoundMemory| {
        let is_near = found.similarity.is_some_and(|similarity| similarity >= least_similarity);
        is_near
            || found.score >= best * LEAST_SHARE && {
                let text = index_text(&found.memory.text);
                let words: Vec<&str> = text.split(' ').collect();
                let shared =
                    telling.iter().filter(|counted| words::is_in(&counted.word, &words)).count();
                shared >= needed
            }
    };
    found.into_iter().filter(is_relevant).take(MOST).collect()
}

fn within_budget(found: Vec<FoundMemory>, budget_tokens: u64) -> Vec<RecalledMemory> {
    let mut left = budget_tokens.saturating_sub(REMARK_TOKENS);
    let mut recalled = Vec::new();
    for FoundMemory { memory, .. } in found {
        let tokens = estimated_tokens(&memory.text) + LINE_TOKENS;
        if tokens > left {
            continue;
        }
        left -= tokens;
        recalled.push(RecalledMemory {
            id: memory.id,
            scope: memory.scope,
            text: memory.text,
            trust: memory.trust,
            written_at: memory.source.written_at,
        });
    }
    recalled
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
