//! The memory of the fake daemon: `m1`, whose last change is `c2`.

use std::cmp::Ordering;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::store::{
    FoundMemory, Memories, Memory, MemoryAuthor, MemoryChange, MemoryChangeKind, MemoryScope,
    MemorySource, MemoryText, NewMemory, ScopeFilter, StoreError, UndoneChange, WordCounts,
    WrittenMemory,
};

use super::{FakeDaemon, KEY};

const M1: MemoryId = MemoryId(1);
const C2: MemoryChangeId = MemoryChangeId(2);

fn memory() -> Memory {
    Memory {
        id: M1,
        scope: MemoryScope::Everyone,
        text: format!("the key is {KEY}"),
        trust: Trust::Full,
        source: MemorySource {
            session: None,
            turn: None,
            message: None,
            said_by: None,
            written_at: Timestamp(5),
        },
        revision: 2,
        forgotten: false,
    }
}

#[async_trait]
impl Memories for FakeDaemon {
    async fn search_memories(
        &self,
        scopes: &ScopeFilter,
        query: &str,
        _: u32,
    ) -> Result<Vec<FoundMemory>, StoreError> {
        let found = FoundMemory { memory: memory(), score: 0.0, similarity: None };
        let is_found = *scopes == ScopeFilter::All && ["", "key"].contains(&query);
        Ok(if is_found { vec![found] } else { Vec::new() })
    }
    async fn memory(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        Ok((id == M1).then(memory))
    }
    async fn same_memory(&self, _: &MemoryScope, _: &str) -> Result<Option<Memory>, StoreError> {
        Ok(None)
    }
    async fn memory_words(&self, _: &[String]) -> Result<WordCounts, StoreError> {
        Ok(WordCounts::default())
    }
    async fn memory_changes(
        &self,
        _: &ScopeFilter,
        of: Option<MemoryId>,
        _: u32,
    ) -> Result<Vec<MemoryChange>, StoreError> {
        let change = MemoryChange {
            id: C2,
            memory: M1,
            scope: MemoryScope::Everyone,
            at: Timestamp(6),
            author: MemoryAuthor::Process,
            kind: MemoryChangeKind::Written,
            before: Some(MemoryText { text: format!("the word is {KEY}"), trust: Trust::Full }),
            after: Some(MemoryText { text: memory().text, trust: Trust::Full }),
        };
        Ok(if of.is_none_or(|of| of == M1) { vec![change] } else { Vec::new() })
    }
    async fn write_memory(
        &self,
        new: &NewMemory,
        _: &MemoryAuthor,
    ) -> Result<WrittenMemory, StoreError> {
        match new.text.as_str() {
            "new" => Ok(WrittenMemory { memory: memory(), is_new: true }),
            "known" => Ok(WrittenMemory { memory: memory(), is_new: false }),
            _ => Err(StoreError::Closed),
        }
    }
    async fn forget_memory(&self, id: MemoryId, _: &MemoryAuthor) -> Result<bool, StoreError> {
        Ok(id == M1)
    }
    async fn undo_memory_change(
        &self,
        change: MemoryChangeId,
        _: &MemoryAuthor,
    ) -> Result<UndoneChange, StoreError> {
        Ok(match change.cmp(&C2) {
            Ordering::Less => UndoneChange::ChangedSince(C2),
            Ordering::Equal => UndoneChange::Done(Box::new(memory())),
            Ordering::Greater => UndoneChange::Unknown,
        })
    }
}
