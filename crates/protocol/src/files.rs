//! The port of the workspace's files, for who neither knows where they are nor may leave it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Trust, TurnId};

/// The files of the workspace, by paths relative to its root.
#[async_trait]
pub trait Files: fmt::Debug + Send + Sync {
    /// The whole of a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// [`FilesError`] names the path and what is wrong with it.
    async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError>;

    /// The beginning of a regular file, `limit` bytes of it at most; none if nothing is there.
    ///
    /// # Errors
    /// [`FilesError`] names the path and what is wrong with it.
    async fn start_of(&self, path: &str, limit: u64) -> Result<Option<FileStart>, FilesError>;

    /// Replaces a file, or makes it with the directories above it: as a whole or not at all. The file keeps `trust`,
    /// the trust level of what is written, for when it is read again.
    ///
    /// # Errors
    /// [`FilesError`]; the file is then as it was.
    async fn write(&self, path: &str, bytes: Vec<u8>, trust: Trust) -> Result<(), FilesError>;
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStart {
    /// As much of it as was asked for.
    pub bytes: Vec<u8>,
    /// How long the whole file is, in bytes.
    pub size: u64,
    /// How far it may be believed.
    pub trust: Trust,
}

/// The workspaces of all agents.
#[async_trait]
pub trait Workspaces: fmt::Debug + Send + Sync {
    /// The files of the agent that runs a turn; those of the default agent for what no turn says.
    ///
    /// # Errors
    /// [`FilesError`] if it cannot be found out.
    async fn of(&self, turn: Option<TurnId>) -> Result<Arc<dyn Files>, FilesError>;
}

/// Why a file of the workspace cannot be used, with its path. Who asked for it is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilesError(pub String);
