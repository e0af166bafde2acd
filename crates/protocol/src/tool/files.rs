//! The port of the workspace's files, for code that knows them only by relative paths.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::access::Trust;
use crate::ids::TurnId;

/// The files of the workspace, by paths relative to its root.
#[async_trait]
pub trait Files: fmt::Debug + Send + Sync {
    /// Reads a whole regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// [`FilesError`] names the path and the problem.
    async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError>;

    /// Reads the beginning of a regular file, at most `limit` bytes; `None` if the file does not
    /// exist.
    ///
    /// # Errors
    /// [`FilesError`] names the path and the problem.
    async fn start_of(&self, path: &str, limit: u64) -> Result<Option<FileStart>, FilesError>;

    /// Returns the names of the directories and links in a directory. Reads at most `most_entries`
    /// entries. Empty if the directory does not exist.
    ///
    /// # Errors
    /// [`FilesError`] names the path and the problem.
    async fn directories(
        &self,
        path: &str,
        most_entries: usize,
    ) -> Result<DirectoryNames, FilesError>;

    /// Creates or replaces a file atomically, with missing parent directories. `trust`, the trust
    /// level of the content, is stored with the file for later reads.
    ///
    /// # Errors
    /// [`FilesError`]; the file is then unchanged.
    async fn write(&self, path: &str, bytes: Vec<u8>, trust: Trust) -> Result<(), FilesError>;

    /// Deletes a regular file. Does nothing if the file does not exist.
    ///
    /// # Errors
    /// [`FilesError`]; the file is still there.
    async fn delete(&self, path: &str) -> Result<(), FilesError>;
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStart {
    /// At most the requested number of bytes.
    pub bytes: Vec<u8>,
    /// The size of the whole file in bytes.
    pub size: u64,
    /// The trust level of the content.
    pub trust: Trust,
}

/// The subdirectories of a directory, as far as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectoryNames {
    /// The names, sorted.
    pub names: Vec<String>,
    /// `true` if the directory has entries that were not read.
    pub has_more: bool,
}

/// A file of the operator whose text is part of the instructions of an agent.
#[async_trait]
pub trait PromptFile: fmt::Debug + Send + Sync {
    /// Reads the beginning of the file, at most `limit` bytes.
    ///
    /// # Errors
    /// [`FilesError`] names the key of the configuration, the path and the problem.
    async fn start(&self, limit: u64) -> Result<FileStart, FilesError>;
}

/// The workspaces of all agents.
#[async_trait]
pub trait Workspaces: fmt::Debug + Send + Sync {
    /// Returns the files of the agent that runs a turn; without a turn, those of the default agent.
    ///
    /// # Errors
    /// [`FilesError`] if the agent cannot be determined.
    async fn find_workspace(&self, turn: Option<TurnId>) -> Result<Arc<dyn Files>, FilesError>;
}

/// The reason why a file of the workspace cannot be used, with its path. The caller reports
/// it to the person or model that asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilesError(pub String);
