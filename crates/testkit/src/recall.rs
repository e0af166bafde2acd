//! A fake recall.

use async_trait::async_trait;
use avocet_protocol::memory::{Recall, RecalledMemory};
use avocet_protocol::model::estimated_tokens;
use avocet_protocol::store::{MemoryScope, StoreError};
use parking_lot::Mutex;

/// Recalls the memories of the requested scopes whose text shares a word with the query. Counts the
/// requests.
#[derive(Debug, Default)]
pub struct FakeRecall {
    memories: Mutex<Vec<RecalledMemory>>,
    asked: Mutex<u32>,
}

impl FakeRecall {
    /// Adds a memory.
    pub fn add(&self, memory: RecalledMemory) {
        self.memories.lock().push(memory);
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn asked(&self) -> u32 {
        *self.asked.lock()
    }
}

#[async_trait]
impl Recall for FakeRecall {
    async fn recall(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        budget_tokens: u64,
    ) -> Result<Vec<RecalledMemory>, StoreError> {
        *self.asked.lock() += 1;
        let shares = |one: &&RecalledMemory| {
            scopes.contains(&one.scope)
                && estimated_tokens(&one.text) <= budget_tokens
                && query.split(' ').any(|word| one.text.split(' ').any(|other| other == word))
        };
        Ok(self.memories.lock().iter().filter(shares).cloned().collect())
    }
}
