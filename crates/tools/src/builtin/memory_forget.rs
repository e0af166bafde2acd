//! `memory_forget`: forgets a memory. A person can undo it.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::store::Memories;
use avocet_protocol::tool::{
    Caution, Description, LogWrite, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::memories::{caution_for_memory, failed_store, parse_id, readable_scopes};

#[derive(Debug)]
pub(super) struct MemoryForget {
    memories: Arc<dyn Memories>,
}

impl MemoryForget {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { memories: parts.memories.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MemoryForgetArguments {
    /// Id like m12.
    id: String,
}

#[async_trait]
impl Tool for MemoryForget {
    type Arguments = MemoryForgetArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Forget a memory that is wrong, outdated or unwanted.";
        Description::new("memory_forget", ToolClass::InLog, TEXT).in_group("memory").for_everyone()
    }

    async fn caution(&self, _arguments: &MemoryForgetArguments, context: &ToolContext) -> Caution {
        caution_for_memory(context)
    }

    async fn execute(
        &self,
        arguments: MemoryForgetArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let id = parse_id(&arguments.id)?;
        let memory = self.memories.memory(id).await.map_err(|error| failed_store(&error))?;
        // A memory of another scope is not even confirmed to exist.
        let memory = memory
            .filter(|memory| {
                !memory.forgotten && readable_scopes(context).includes_scope(&memory.scope)
            })
            .ok_or_else(|| ToolError::ExecutionFailed(format!("there is no memory {id} here")))?;
        memory
            .scope
            .check_change(context.asker.as_ref(), context.role)
            .map_err(|refused| ToolError::PermissionDenied(format!("{id}: {refused}")))?;
        let value = json!(format!("forgotten: {id}"));
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![LogWrite::Forget { id }])))
    }
}
