//! Code that the memory tools share.

use avocet_protocol::access::{Role, Trust};
use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{Memory, MemoryScope, ScopeFilter, StoreError};
use avocet_protocol::tool::{Caution, ToolContext, ToolError, ToolOutcome, ToolOutput};
use serde_json::json;

/// Asks for an approval if an owner's turn has read text of other people. A user's own words may
/// change the memory of that user and of the chat.
pub(super) fn caution_for_memory(context: &ToolContext) -> Caution {
    if context.role == Role::Owner && context.trust == Trust::User {
        return Caution::Because("somebody who is not an owner has written here".to_owned());
    }
    Caution::ByTrust
}

/// The scopes that a call may read.
pub(super) fn readable_scopes(context: &ToolContext) -> ScopeFilter {
    ScopeFilter::Only(MemoryScope::readable(context.asker.as_ref()))
}

/// Returns memories as a result with their least trust.
pub(super) fn list_memories(memories: &[Memory], nothing: &str) -> ToolOutcome {
    if memories.is_empty() {
        return json!(nothing).into();
    }
    let trust = memories.iter().map(|memory| memory.trust).min();
    let lines: Vec<String> = memories.iter().map(memory_line).collect();
    ToolOutcome::Finished(ToolOutput { trust, ..ToolOutput::with_writes(json!(lines), Vec::new()) })
}

fn memory_line(memory: &Memory) -> String {
    let at = jiff::Timestamp::from_millisecond(memory.source.written_at.0).unwrap_or_default();
    let date = at.strftime("%F");
    format!("{} ({}, {date}): {}", memory.id, memory.scope.kind().as_str(), memory.text)
}

pub(super) fn parse_id(id: &str) -> Result<MemoryId, ToolError> {
    id.parse().map_err(|_| {
        ToolError::InvalidArgs(format!("{id:?} is not the id of a memory; ids look like m12"))
    })
}

pub(super) fn failed_store(error: &StoreError) -> ToolError {
    ToolError::ExecutionFailed(error.to_string())
}
