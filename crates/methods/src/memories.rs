//! The methods that read and change the memory.

use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::memory::{ConsolidateRequest, ConsolidationReport, MirrorReport};
use avocet_protocol::store::{Memory, MemoryChange, MemoryScope, WrittenMemory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NoParams, Touches};

/// `memory.add`: writes a memory with full trust, unless its scope has one with the same words. The
/// result is a [`WrittenMemory`](avocet_protocol::store::WrittenMemory).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddMemory {
    /// The text.
    pub text: String,
    /// The readers.
    pub scope: MemoryScope,
}

/// `memory.forget`: forgets a memory. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetMemory {
    /// The memory.
    pub memory: MemoryId,
}

/// `memory.undo`: restores the state before a change. The result is a
/// [`Memory`](avocet_protocol::store::Memory).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoMemoryChange {
    /// The last change of its memory.
    pub change: MemoryChangeId,
}

/// `memory.list`: a list of [`Memory`] without forgotten ones and without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListMemories {
    /// Words; memories with any of them are listed, the best match first. Without a word all
    /// memories are listed, the newest first.
    pub words: String,
    /// Only memories of this scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
}

impl Default for ListMemories {
    fn default() -> Self {
        Self { words: String::new(), scope: None, limit: 50 }
    }
}

/// `memory.show`: a memory with its changes, as [`MemoryDetails`]. Forgotten memories are shown, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Its last changes, at most 500, the newest first.
    pub changes: Vec<MemoryChange>,
}

/// `memory.log`: a list of [`MemoryChange`], the newest first, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListMemoryChanges {
    /// Only changes of this memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    /// Only changes of memories of this scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
}

impl Default for ListMemoryChanges {
    fn default() -> Self {
        Self { memory: None, scope: None, limit: 50 }
    }
}

/// `memory.sync`: takes the edits of the memory's files into the log.
#[derive(Debug)]
pub enum SyncMemories {}

method!(AddMemory = "memory.add": Self => WrittenMemory, Operator, Touches::Everything, outside_libraries);
method!(ConsolidateRequest = "memory.consolidate": Self => Vec<ConsolidationReport>, Operator, Touches::Everything, optional_params, outside_libraries);
method!(ForgetMemory = "memory.forget": Self => (), Operator, Touches::Everything, outside_libraries);
method!(ListMemories = "memory.list": Self => Vec<Memory>, Observer, Touches::Everything, optional_params);
method!(ListMemoryChanges = "memory.log": Self => Vec<MemoryChange>, Observer, Touches::Everything, optional_params);
method!(ShowMemory = "memory.show": Self => MemoryDetails, Observer, Touches::Everything, optional_params);
method!(SyncMemories = "memory.sync": NoParams => MirrorReport, Operator, Touches::Everything, outside_libraries);
method!(UndoMemoryChange = "memory.undo": Self => Memory, Operator, Touches::Everything, outside_libraries);
