//! The port of the files that programs upload, to refer to them in later requests.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::channel::{FetchError, UploadError, UploadSink};
use crate::clock::Timestamp;
use crate::ids::SenderId;

/// The description of a file that a program has uploaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFile {
    /// The name by which the store knows the file.
    pub reference: String,
    /// The client that has uploaded it. No other client sees it.
    pub owner: SenderId,
    /// The name for people.
    pub name: String,
    /// The media type (RFC 6838), if the client has named one.
    pub media_type: Option<String>,
    /// The purpose in the words of the client.
    pub purpose: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The time of the upload.
    pub created_at: Timestamp,
    /// The time at which the file is removed.
    pub expires_at: Timestamp,
}

/// Keeps the files that programs upload, each until its `expires_at`. A file that has expired does
/// not exist for any method.
#[async_trait]
pub trait ProgramFiles: fmt::Debug + Send + Sync {
    /// Returns the size of the largest file, in bytes.
    fn max_bytes(&self) -> u64;

    /// Begins a file.
    ///
    /// # Errors
    /// [`UploadError`] if the file cannot be created.
    async fn begin_file(&self) -> Result<Box<dyn UploadSink>, UploadError>;

    /// Adds the description of a finished file, which becomes visible to its owner.
    ///
    /// # Errors
    /// [`UploadError`]: the file stays invisible, and is removed later.
    async fn describe_file(&self, file: &ProgramFile) -> Result<(), UploadError>;

    /// Returns all files of a client, the newest first.
    ///
    /// # Errors
    /// [`UploadError::Unreadable`] if a description cannot be read.
    async fn list_files(&self, owner: &SenderId) -> Result<Vec<ProgramFile>, UploadError>;

    /// Returns a file of a client; `None` if the client has no file with this reference.
    ///
    /// # Errors
    /// [`UploadError::Unreadable`] if its description cannot be read.
    async fn find_file(
        &self,
        owner: &SenderId,
        reference: &str,
    ) -> Result<Option<ProgramFile>, UploadError>;

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`FetchError`] if the file is gone or cannot be read.
    async fn read_file(&self, file: &ProgramFile) -> Result<Vec<u8>, FetchError>;

    /// Removes a file.
    ///
    /// # Errors
    /// [`UploadError::Unreadable`] if the file still exists.
    async fn remove_file(&self, file: &ProgramFile) -> Result<(), UploadError>;
}
