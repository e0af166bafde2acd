//! `memory_read`: shows memories by their ids, or the newest.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::store::Memories;
use avocet_protocol::tool::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltinParts;
use super::memories::{failed_store, list_memories, parse_id, readable_scopes};

/// The number of newest memories that are shown without ids.
const NEWEST: u32 = 20;

#[derive(Debug)]
pub(super) struct MemoryRead {
    memories: Arc<dyn Memories>,
}

impl MemoryRead {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { memories: parts.memories.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MemoryReadArguments {
    /// Ids like m12. Default: the 20 newest.
    ids: Option<Vec<String>>,
}

#[async_trait]
impl Tool for MemoryRead {
    type Arguments = MemoryReadArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Show memories of this person, this chat and everyone.";
        Description::new("memory_read", ToolClass::Pure, TEXT)
            .in_group("memory")
            .parallel()
            .at_most(32 * 1024)
            .for_everyone()
    }

    async fn execute(
        &self,
        arguments: MemoryReadArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let scopes = readable_scopes(context);
        let ids = arguments.ids.unwrap_or_default();
        if ids.is_empty() {
            let found = self
                .memories
                .search_memories(&scopes, "", NEWEST)
                .await
                .map_err(|error| failed_store(&error))?;
            let found: Vec<_> = found.into_iter().map(|found| found.memory).collect();
            return Ok(list_memories(&found, "there are no memories"));
        }
        let mut found = Vec::new();
        for id in &ids {
            let memory =
                self.memories.memory(parse_id(id)?).await.map_err(|error| failed_store(&error))?;
            found.extend(memory.filter(|one| !one.forgotten && scopes.includes_scope(&one.scope)));
        }
        Ok(list_memories(&found, "there are no such memories here"))
    }
}
