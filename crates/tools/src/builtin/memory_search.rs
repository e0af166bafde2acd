//! `memory_search`: finds memories by words.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::store::Memories;
use avocet_protocol::tool::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltinParts;
use super::memories::{failed_store, list_memories, readable_scopes};

const DEFAULT_LIMIT: u32 = 10;
const MAX_LIMIT: u32 = 50;

#[derive(Debug)]
pub(super) struct MemorySearch {
    memories: Arc<dyn Memories>,
}

impl MemorySearch {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { memories: parts.memories.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MemorySearchArguments {
    query: String,
    /// At most 50. Default: 10.
    #[schemars(range(min = 1, max = 50), extend("x-rare" = true))]
    limit: Option<u32>,
}

#[async_trait]
impl Tool for MemorySearch {
    type Arguments = MemorySearchArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Search memories.";
        Description::new("memory_search", ToolClass::Pure, TEXT)
            .in_group("memory")
            .parallel()
            .at_most(32 * 1024)
            .for_everyone()
    }

    async fn execute(
        &self,
        arguments: MemorySearchArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let found =
            self.memories.search_memories(&readable_scopes(context), &arguments.query, limit).await;
        let found: Vec<_> = found
            .map_err(|error| failed_store(&error))?
            .into_iter()
            .map(|found| found.memory)
            .collect();
        Ok(list_memories(&found, "there are no memories about this"))
    }
}
