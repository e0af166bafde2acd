//! The port that finds the memories for a turn.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Trust;
use crate::clock::Timestamp;
use crate::ids::MemoryId;
use crate::store::{MemoryScope, StoreError};

/// Finds the memories that are relevant to a turn.
#[async_trait]
pub trait Recall: fmt::Debug + Send + Sync {
    /// The most relevant memories of these scopes, best first, as far as they fit into
    /// `budget_tokens`. Empty if none is relevant.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    async fn recall(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        budget_tokens: u64,
    ) -> Result<Vec<RecalledMemory>, StoreError>;
}

/// A memory as a turn's requests contain it. Later changes of the memory leave it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecalledMemory {
    /// The memory.
    pub id: MemoryId,
    /// Its readers.
    pub scope: MemoryScope,
    /// Its text.
    pub text: String,
    /// Its trust.
    pub trust: Trust,
    /// The time of writing.
    pub written_at: Timestamp,
}
