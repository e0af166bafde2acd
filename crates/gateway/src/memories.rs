//! The methods that read and change the memory. If no daemon runs, the program's own commands call them
//! directly.

use avocet_methods::{
    AddMemory, ForgetMemory, ListMemories, ListMemoryChanges, MOST_ROWS, MemoryDetails, NoParams,
    ShowMemory, SocketMethod, SyncMemories, UndoMemoryChange,
};
use avocet_protocol::access::Trust;
use avocet_protocol::ids::MemoryId;
use avocet_protocol::memory::{MemoryMirror, MirrorReport};
use avocet_protocol::store::{
    MAX_MEMORY_BYTES, Memories, MemoryAuthor, MemoryScope, NewMemory, ScopeFilter, UndoneChange,
};
use avocet_text::Redactor;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::{check_limit, unavailable};
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
pub struct MemoryPorts<'a> {
    /// The memories.
    pub memories: &'a dyn Memories,
    /// The files of the memory; `None` if it has none.
    pub mirror: Option<&'a dyn MemoryMirror>,
    /// Removes secrets from the answers.
    pub redactor: &'a Redactor,
}

impl<'a> From<MethodCall<'a>> for MemoryPorts<'a> {
    fn from(MethodCall { parts, .. }: MethodCall<'a>) -> Self {
        let (memories, mirror) = (parts.memories.as_ref(), parts.mirror.as_deref());
        Self { memories, mirror, redactor: &parts.redactor }
    }
}

impl MemoryPorts<'_> {
    /// Takes the edits of people into the log, so that the answer contains them.
    async fn take_in_edits(&self) {
        let Some(mirror) = self.mirror else { return };
        if let Err(error) = mirror.sync_all().await {
            tracing::warn!(
                "cannot take edits of memory files into the log: {error}; showing the memories of the log"
            );
        }
    }
}

impl RunMethod for ListMemories {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { words, scope, limit }: Self) -> Answered<Self> {
        ports.take_in_edits().await;
        check_limit(Self::NAME, "limit", limit)?;
        let found = ports.memories.search_memories(&in_scope(scope), &words, limit).await;
        let found = found.map_err(unavailable)?.into_iter().map(|found| found.memory);
        Reply::without_secrets(&found.collect(), ports.redactor)
    }
}

impl RunMethod for ListMemoryChanges {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { memory, scope, limit }: Self) -> Answered<Self> {
        ports.take_in_edits().await;
        check_limit(Self::NAME, "limit", limit)?;
        let changes = ports.memories.memory_changes(&in_scope(scope), memory, limit).await;
        Reply::without_secrets(&changes.map_err(unavailable)?, ports.redactor)
    }
}

impl RunMethod for ShowMemory {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { memory: id }: Self) -> Answered<Self> {
        ports.take_in_edits().await;
        let memory = ports.memories.memory(id).await.map_err(unavailable)?;
        let memory = memory.ok_or_else(|| not_found(unknown_memory(id)))?;
        let changes = ports.memories.memory_changes(&ScopeFilter::All, Some(id), MOST_ROWS).await;
        let details = MemoryDetails { memory, changes: changes.map_err(unavailable)? };
        Reply::without_secrets(&details, ports.redactor)
    }
}

fn in_scope(scope: Option<MemoryScope>) -> ScopeFilter {
    scope.map_or(ScopeFilter::All, |scope| ScopeFilter::Only(vec![scope]))
}

fn unknown_memory(id: MemoryId) -> String {
    format!("there is no memory {id}; `avocet memory list` shows them")
}

impl RunMethod for AddMemory {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { text, scope }: Self) -> Answered<Self> {
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
        let written = ports.memories.write_memory(&new, &MemoryAuthor::Process).await;
        Reply::without_secrets(&written.map_err(unavailable)?, ports.redactor)
    }
}

impl RunMethod for SyncMemories {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        let report = match ports.mirror {
            Some(mirror) => mirror.sync_all().await.map_err(unavailable)?,
            None => MirrorReport::default(),
        };
        Reply::without_secrets(&report, ports.redactor)
    }
}

impl RunMethod for ForgetMemory {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { memory }: Self) -> Answered<Self> {
        match ports.memories.forget_memory(memory, &MemoryAuthor::Process).await {
            Ok(true) => Reply::with_whole(&()),
            Ok(false) => Err(not_found(unknown_memory(memory))),
            Err(error) => Err(unavailable(error)),
        }
    }
}

impl RunMethod for UndoMemoryChange {
    type Ports<'a> = MemoryPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { change }: Self) -> Answered<Self> {
        let undone = ports.memories.undo_memory_change(change, &MemoryAuthor::Process).await;
        match undone.map_err(unavailable)? {
            UndoneChange::Done(memory) => Reply::without_secrets(&memory, ports.redactor),
            UndoneChange::Unknown => Err(not_found(format!(
                "there is no change {change}; `avocet memory log` shows them"
            ))),
            UndoneChange::ChangedSince(later) => Err(RpcError::new(
                RpcError::PARAMS,
                format!("the memory was changed again; undo {later} before {change}"),
            )),
        }
    }
}

fn not_found(message: String) -> RpcError {
    RpcError::new(RpcError::NOT_FOUND, message)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use avocet_protocol::store::StoreError;
    use serde_json::{Value, json};

    use super::*;
    use crate::run::run_method;
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
        let redactor = Redactor::default();
        let ports =
            || MemoryPorts { memories: &daemon, mirror: Some(&mirror), redactor: &redactor };
        let syncs = || mirror.0.load(Ordering::Relaxed);
        assert!(run_method::<ListMemories>(ports(), Value::Null).await.is_ok());
        assert_eq!(syncs(), 1);
        // Although the files cannot be read.
        assert!(run_method::<ListMemories>(ports(), Value::Null).await.is_ok());
        assert_eq!(syncs(), 2);
        assert!(run_method::<ListMemoryChanges>(ports(), Value::Null).await.is_ok());
        assert_eq!(syncs(), 3);
        assert!(run_method::<ShowMemory>(ports(), json!({ "memory": "m1" })).await.is_ok());
        assert_eq!(syncs(), 4);
    }
}
