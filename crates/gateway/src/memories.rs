//! The methods that change the memory. If no daemon runs, the program's own commands call them
//! directly.

use avocet_protocol::{
    MAX_MEMORY_BYTES, Memories, MemoryAuthor, MemoryChangeId, MemoryId, MemoryMirror, MemoryScope,
    MirrorReport, NewMemory, StoreError, Trust, UndoneChange,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::values::{read, to_value, unavailable};
use crate::wire::RpcError;

/// `memory.add`: writes a memory with full trust, unless its scope has one with the same words. The
/// result is a [`WrittenMemory`](avocet_protocol::WrittenMemory).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddMemory {
    /// The text.
    pub text: String,
    /// The readers.
    pub scope: MemoryScope,
}

/// `memory.forget`: forgets a memory. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetMemory {
    /// The memory.
    pub memory: MemoryId,
}

/// `memory.undo`: restores the state before a change. The result is a
/// [`Memory`](avocet_protocol::Memory).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoMemoryChange {
    /// The last change of its memory.
    pub change: MemoryChangeId,
}

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_memories(
    memories: &dyn Memories,
    mirror: Option<&dyn MemoryMirror>,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    match method {
        "memory.add" => Some(add(memories, method, params).await),
        "memory.sync" => Some(sync(mirror).await),
        "memory.forget" => Some(forget(memories, method, params).await),
        "memory.undo" => Some(undo(memories, method, params).await),
        _ => None,
    }
}

async fn add(memories: &dyn Memories, method: &str, params: Value) -> Result<Value, RpcError> {
    let AddMemory { text, scope } = read(method, params)?;
    let text = text.trim().to_owned();
    let refuse = |why: String| Err(RpcError::new(RpcError::PARAMS, why));
    match text.len() {
        0 => return refuse("the text is empty".to_owned()),
        length if length > MAX_MEMORY_BYTES => {
            return refuse(format!(
                "the text has {length} bytes; a memory has at most {MAX_MEMORY_BYTES}"
            ));
        }
        _ => {}
    }
    let new = NewMemory { scope, text, trust: Trust::Full, session: None, said_by: None };
    to_value(memories.write_memory(&new, &MemoryAuthor::Process).await)
}

/// Takes in the edits of the memory's files. The result is a
/// [`MirrorReport`](avocet_protocol::MirrorReport).
async fn sync(mirror: Option<&dyn MemoryMirror>) -> Result<Value, RpcError> {
    match mirror {
        Some(mirror) => to_value(mirror.sync_all().await),
        None => to_value(Ok::<_, StoreError>(MirrorReport::default())),
    }
}

async fn forget(memories: &dyn Memories, method: &str, params: Value) -> Result<Value, RpcError> {
    let ForgetMemory { memory } = read(method, params)?;
    match memories.forget_memory(memory, &MemoryAuthor::Process).await {
        Ok(true) => Ok(Value::Null),
        Ok(false) => {
            Err(not_found(format!("there is no memory {memory}; `avocet memory list` shows them")))
        }
        Err(error) => Err(unavailable(error)),
    }
}

async fn undo(memories: &dyn Memories, method: &str, params: Value) -> Result<Value, RpcError> {
    let UndoMemoryChange { change } = read(method, params)?;
    let undone = memories.undo_memory_change(change, &MemoryAuthor::Process).await;
    match undone.map_err(unavailable)? {
        UndoneChange::Done(memory) => to_value(Ok::<_, StoreError>(memory)),
        UndoneChange::Unknown => {
            Err(not_found(format!("there is no change {change}; `avocet memory log` shows them")))
        }
        UndoneChange::ChangedSince(later) => Err(RpcError::new(
            RpcError::PARAMS,
            format!("the memory was changed again; undo {later} before {change}"),
        )),
    }
}

fn not_found(message: String) -> RpcError {
    RpcError::new(RpcError::NOT_FOUND, message)
}
