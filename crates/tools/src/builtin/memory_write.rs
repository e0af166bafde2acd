//! `memory_write`: stores a memory.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{MAX_MEMORY_BYTES, Memories, MemoryScope, ScopeKind};
use avocet_protocol::tool::{
    Caution, Description, LogWrite, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    ToolOutput,
};
use avocet_text::index_text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::memories::{caution_for_memory, failed_store};

#[derive(Debug)]
pub(super) struct MemoryWrite {
    memories: Arc<dyn Memories>,
}

impl MemoryWrite {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { memories: parts.memories.clone() }
    }

    /// Returns the memory that has this text already: one of the scope, or one that the request
    /// contains. A copy of the latter into a scope that the model names is deliberate.
    async fn find_known(
        &self,
        text: &str,
        scope: &MemoryScope,
        wanted: Option<ScopeKind>,
        context: &ToolContext,
    ) -> Result<Option<MemoryId>, ToolError> {
        let words = index_text(text);
        let recalled = context.recalled.iter().find(|recalled| {
            let here = recalled.scope == *scope || wanted.is_none();
            here && index_text(&recalled.text) == words
        });
        if let Some(recalled) = recalled {
            return Ok(Some(recalled.id));
        }
        let same =
            self.memories.same_memory(scope, text).await.map_err(|error| failed_store(&error))?;
        Ok(same.map(|memory| memory.id))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MemoryWriteArguments {
    text: String,
    /// The readers. Default: person; in a group: chat.
    #[serde(default)]
    #[schemars(schema_with = "scope_schema", extend("x-rare" = true))]
    scope: Option<ScopeKind>,
}

fn scope_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["person", "chat", "everyone"] })
}

#[async_trait]
impl Tool for MemoryWrite {
    type Arguments = MemoryWriteArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Remember a fact beyond this conversation.";
        Description::new("memory_write", ToolClass::InLog, TEXT).in_group("memory").for_everyone()
    }

    async fn caution(&self, _arguments: &MemoryWriteArguments, context: &ToolContext) -> Caution {
        caution_for_memory(context)
    }

    async fn execute(
        &self,
        arguments: MemoryWriteArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let text = arguments.text.trim().to_owned();
        if text.is_empty() {
            return Err(ToolError::InvalidArgs("text is empty".to_owned()));
        }
        if text.len() > MAX_MEMORY_BYTES {
            return Err(ToolError::InvalidArgs(format!(
                "text is {} bytes long; a memory has at most {MAX_MEMORY_BYTES}. Write a file instead",
                text.len()
            )));
        }
        let scope = MemoryScope::writable(context.asker.as_ref(), context.role, arguments.scope)
            .map_err(|refused| ToolError::PermissionDenied(refused.to_string()))?;
        if let Some(id) = self.find_known(&text, &scope, arguments.scope, context).await? {
            return Ok(json!(format!("already known as {id}")).into());
        }
        let value = json!(format!("remembered ({}): {text}", scope.kind().as_str()));
        let write = LogWrite::Remember { scope, text };
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![write])))
    }
}
