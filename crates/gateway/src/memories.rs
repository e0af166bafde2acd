//! The methods that read and change the memory. If no daemon runs, the program's own commands call them
//! directly.

use avocet_protocol::{
    MAX_MEMORY_BYTES, Memories, Memory, MemoryAuthor, MemoryChange, MemoryChangeId, MemoryId,
    MemoryMirror, MemoryScope, MirrorReport, NewMemory, Redactor, ScopeFilter, StoreError, Trust,
    UndoneChange,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{MOST_ROWS, check_limit, or_empty, presentable, read, to_value, unavailable};
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

/// `memory.list`: a list of [`Memory`] without forgotten ones and without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListMemories {
    /// Words; memories with any of them are listed, the best match first. Without a word all
    /// memories are listed, the newest first.
    pub words: String,
    /// Only memories of this scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// The most rows, from 1 to [`MOST_ROWS`].
    pub limit: u32,
}

impl Default for ListMemories {
    fn default() -> Self {
        Self { words: String::new(), scope: None, limit: 50 }
    }
}

/// `memory.show`: a memory with its changes, as [`MemoryDetails`]. Forgotten memories are shown, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowMemory {
    /// The memory.
    pub memory: MemoryId,
}

/// The result of [`ShowMemory`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDetails {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// Its last changes, at most [`MOST_ROWS`], the newest first.
    pub changes: Vec<MemoryChange>,
}

/// `memory.log`: a list of [`MemoryChange`], the newest first, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListMemoryChanges {
    /// Only changes of this memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    /// Only changes of memories of this scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// The most rows, from 1 to [`MOST_ROWS`].
    pub limit: u32,
}

impl Default for ListMemoryChanges {
    fn default() -> Self {
        Self { memory: None, scope: None, limit: 50 }
    }
}

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_memories(
    memories: &dyn Memories,
    mirror: Option<&dyn MemoryMirror>,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    let answer = match method {
        "memory.add" => add(memories, method, params).await,
        "memory.forget" => forget(memories, method, params).await,
        "memory.list" | "memory.log" | "memory.show" => {
            take_in_edits(mirror).await;
            look_up(memories, method, or_empty(params)).await
        }
        "memory.sync" => sync(mirror).await,
        "memory.undo" => undo(memories, method, params).await,
        _ => return None,
    };
    Some(answer.map(|found| presentable(found, redactor)))
}

/// Takes the edits of people into the log, so that the answer contains them.
async fn take_in_edits(mirror: Option<&dyn MemoryMirror>) {
    let Some(mirror) = mirror else { return };
    if let Err(error) = mirror.sync_all().await {
        tracing::warn!(
            "cannot take edits of memory files into the log: {error}; showing the memories of the log"
        );
    }
}

async fn look_up(memories: &dyn Memories, method: &str, params: Value) -> Result<Value, RpcError> {
    let filter = |scope: Option<MemoryScope>| {
        scope.map_or(ScopeFilter::All, |scope| ScopeFilter::Only(vec![scope]))
    };
    match method {
        "memory.list" => {
            let ListMemories { words, scope, limit } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            let found = memories.search_memories(&filter(scope), &words, limit).await;
            let found = found.map_err(unavailable)?.into_iter().map(|found| found.memory);
            Ok(json!(found.collect::<Vec<Memory>>()))
        }
        "memory.log" => {
            let ListMemoryChanges { memory, scope, limit } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            to_value(memories.memory_changes(&filter(scope), memory, limit).await)
        }
        _ => {
            let ShowMemory { memory: id } = read(method, params)?;
            let memory = memories.memory(id).await.map_err(unavailable)?;
            let memory = memory.ok_or_else(|| not_found(unknown_memory(id)))?;
            let changes = memories.memory_changes(&ScopeFilter::All, Some(id), MOST_ROWS).await;
            Ok(json!(MemoryDetails { memory, changes: changes.map_err(unavailable)? }))
        }
    }
}

fn unknown_memory(id: MemoryId) -> String {
    format!("there is no memory {id}; `avocet memory list` shows them")
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
        Ok(false) => Err(not_found(unknown_memory(memory))),
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::testing::FakeDaemon;

    /// Counts the syncs; every second one fails.
    #[derive(Debug, Default)]
    struct FakeMirror(AtomicU32);

    #[async_trait]
    impl MemoryMirror for FakeMirror {
        async fn sync_all(&self) -> Result<MirrorReport, StoreError> {
            match self.0.fetch_add(1, Ordering::Relaxed) % 2 {
                0 => Ok(MirrorReport::default()),
                _ => Err(StoreError::Closed),
            }
        }
    }

    #[tokio::test]
    async fn methods_that_read_memories_take_in_the_edits_of_files_before() {
        let (daemon, mirror) = (FakeDaemon::default(), FakeMirror::default());
        let methods = [
            ("memory.list", Value::Null),
            ("memory.list", Value::Null),
            ("memory.log", Value::Null),
            ("memory.show", json!({ "memory": "m1" })),
        ];
        for ((method, params), calls) in methods.into_iter().zip(1..) {
            let redactor = Redactor::default();
            let found =
                answer_about_memories(&daemon, Some(&mirror), &redactor, method, params).await;
            assert!(found.unwrap().is_ok(), "{method}, although the files cannot be read");
            assert_eq!(mirror.0.load(Ordering::Relaxed), calls, "{method}");
        }
    }
}
