//! The port of the Markdown files in which a person reads and edits the memory.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::MemoryId;
use crate::store::StoreError;

/// The Markdown files of the memory.
#[async_trait]
pub trait MemoryMirror: fmt::Debug + Send + Sync {
    /// Takes the edits of all files into the log, and brings the files up to date.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read or written. The edits then stay in the files.
    async fn sync_all(&self) -> Result<MirrorReport, StoreError>;
}

/// The state of the files after a comparison with the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirrorReport {
    /// Number of edits that were taken into the log just now.
    pub taken_in: u64,
    /// The memories that hold a person's version of another memory.
    pub conflicts: Vec<MemoryId>,
    /// The files that a person has to correct, each with its fault.
    pub problems: Vec<String>,
}
