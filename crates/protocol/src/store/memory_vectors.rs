//! The port of the vectors of memories.

use std::fmt;

use async_trait::async_trait;

use super::Result;
use crate::ids::MemoryId;
use crate::store::{FoundMemory, Memory, ScopeFilter};

/// One vector for each active memory. The vector of a memory that changes is removed.
#[async_trait]
pub trait MemoryVectors: fmt::Debug + Send + Sync {
    /// Returns active memories of all scopes without a vector of this model, newest first.
    async fn without_vector(&self, model: &str, limit: u32) -> Result<Vec<Memory>>;

    /// Stores vectors of this model. Skips memories that have changed since the revision.
    async fn add_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> Result<()>;

    /// Returns the memories with the most similar vectors of this model, best first. Compares all
    /// vectors of the scopes. The score is 0.
    async fn nearest(
        &self,
        scopes: &ScopeFilter,
        model: &str,
        vector: &[f32],
        limit: u32,
    ) -> Result<Vec<FoundMemory>>;
}

/// The answer of an embedding model for the text of a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryVector {
    /// The memory.
    pub memory: MemoryId,
    /// The revision whose text the vector belongs to.
    pub revision: u32,
    /// The vector, of any length other than 0.
    pub vector: Vec<f32>,
}
