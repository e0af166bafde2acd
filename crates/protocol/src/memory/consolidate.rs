//! The port that consolidates memories at the operator's request.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::daemon::Live;
use crate::ids::{MemoryChangeId, MemoryId};
use crate::store::{MemoryScope, StoreError};

/// Consolidates memories now, even if the configuration turns regular runs off.
#[async_trait]
pub trait Consolidate: fmt::Debug + Send + Sync {
    /// Runs once for the scope, or for each scope with new memories. Returns a report for each run.
    ///
    /// # Errors
    /// [`ConsolidateError`]. Earlier runs of the same call keep their effect.
    async fn consolidate(
        &self,
        request: &ConsolidateRequest,
    ) -> Result<Vec<ConsolidationReport>, ConsolidateError>;

    /// Runs once for the scope, within the number of runs of a day.
    ///
    /// # Errors
    /// [`ConsolidateError`].
    async fn consolidate_due(
        &self,
        scope: &MemoryScope,
    ) -> Result<ConsolidationReport, ConsolidateError>;
}

#[async_trait]
impl<T: Consolidate> Consolidate for Live<T> {
    async fn consolidate(
        &self,
        request: &ConsolidateRequest,
    ) -> Result<Vec<ConsolidationReport>, ConsolidateError> {
        self.now().consolidate(request).await
    }

    async fn consolidate_due(
        &self,
        scope: &MemoryScope,
    ) -> Result<ConsolidationReport, ConsolidateError> {
        self.now().consolidate_due(scope).await
    }
}

/// A request to consolidate memories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsolidateRequest {
    /// The scope; `None` means all scopes with new memories.
    pub scope: Option<MemoryScope>,
    /// `true` to change nothing.
    pub dry_run: bool,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsolidationReport {
    /// The scope.
    pub scope: MemoryScope,
    /// Number of memories that the model was shown.
    pub shown: u64,
    /// The edits that the model proposes, in its order.
    pub edits: Vec<ReportedEdit>,
    /// The reason of a failure.
    pub error: Option<String>,
}

/// An edit that the model proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedEdit {
    /// `merge`, `replace` or `date`.
    pub kind: String,
    /// The memories that lose their text.
    pub before: Vec<ReportedMemory>,
    /// The memory that remains, with its text after the edit.
    pub after: Option<ReportedMemory>,
    /// The reason why the edit was left out; `None` if it was applied, or would be.
    pub refused: Option<String>,
    /// The changes, for `avocet memory undo`.
    pub changes: Vec<MemoryChangeId>,
}

/// A text of a memory in a [`ReportedEdit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedMemory {
    /// The memory.
    pub id: MemoryId,
    /// The text.
    pub text: String,
}

/// The reason why memories cannot be consolidated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsolidateError {
    /// A budget of the day is used up.
    #[error("{0}")]
    Budget(String),
    /// The runs of the day are used up.
    #[error("the {0} runs of this day are used up")]
    Runs(u32),
    /// An owner has stopped everything.
    #[error("an owner has stopped everything; `avocet resume --all` lets it go on")]
    Stopped,
    /// The log failed.
    #[error(transparent)]
    Log(#[from] StoreError),
}
