//! `memory_read`: looks up notes.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::{
    Description, Notes, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;

const DEFAULT_LIMIT: u32 = 10;
const MAX_LIMIT: u32 = 50;

#[derive(Debug)]
pub(super) struct MemoryRead {
    notes: Arc<dyn Notes>,
}

impl MemoryRead {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { notes: parts.notes.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Words to look for; notes with any of them are found. Default: the newest notes.
    query: Option<String>,
    /// Maximum number of notes, up to 50. Default: 10.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

#[async_trait]
impl Tool for MemoryRead {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Look up notes that memory_write has stored, in this and in other \
            conversations.";
        Description::new("memory_read", ToolClass::Pure, TEXT).parallel().at_most(32 * 1024)
    }

    async fn execute(
        &self,
        arguments: Arguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let found = self.notes.search(&arguments.query.unwrap_or_default(), limit).await;
        let found = found.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        if found.is_empty() {
            return Ok(json!("there are no notes about this").into());
        }
        let trust = found.iter().map(|note| note.trust).min();
        let texts: Vec<String> = found.into_iter().map(|note| note.text).collect();
        let output = ToolOutput::with_writes(json!(texts), Vec::new());
        Ok(ToolOutcome::Finished(ToolOutput { trust, ..output }))
    }
}
