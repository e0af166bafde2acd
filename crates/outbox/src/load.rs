//! Files of a chunk: loaded from the workspace before the send begins, and freed after it.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::chat::{
    Attachment, AttachmentSource, Delivery, LoadedFile, MAX_SENT_FILE_BYTES,
};
use avocet_protocol::tool::{FilesError, Workspaces};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum number of chunks with files in memory, over all chats.
const AT_ONCE: usize = 4;
/// Slowest connection for which a file is sent, in bytes per second.
const SLOWEST: u64 = 128 * 1024;

/// Loads files, for a few chunks at a time.
#[derive(Debug, Clone)]
pub(crate) struct FileLoader {
    workspaces: Arc<dyn Workspaces>,
    at_once: Arc<Semaphore>,
}

/// The files of a chunk, with their memory slot.
#[derive(Debug, Default)]
pub(crate) struct LoadedFiles<'a> {
    pub(crate) files: Vec<LoadedFile>,
    _place: Option<SemaphorePermit<'a>>,
}

impl FileLoader {
    pub(crate) fn new(workspaces: Arc<dyn Workspaces>) -> Self {
        Self { workspaces, at_once: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Reads the files of a chunk.
    pub(crate) async fn load(&self, chunk: &Delivery) -> Result<LoadedFiles<'_>, FilesError> {
        let mut paths = chunk.content.attachments.iter().filter_map(workspace_path).peekable();
        if paths.peek().is_none() {
            return Ok(LoadedFiles::default());
        }
        // The semaphore always stays open.
        let place = self.at_once.acquire().await.ok();
        let workspace = self.workspaces.find_workspace(chunk.turn).await?;
        let mut files = Vec::new();
        for (path, name) in paths {
            let bytes = workspace.read(path, MAX_SENT_FILE_BYTES).await?;
            files.push(LoadedFile { name: name.to_owned(), bytes: bytes.into() });
        }
        Ok(LoadedFiles { files, _place: place })
    }

    /// Deletes the recordings of a chunk, of which the platform has a copy.
    pub(crate) async fn delete_recordings(&self, chunk: &Delivery) {
        for path in chunk.content.attachments.iter().filter_map(Attachment::as_recording) {
            let deleted = match self.workspaces.find_workspace(chunk.turn).await {
                Ok(workspace) => workspace.delete(path).await,
                Err(error) => Err(error),
            };
            if let Err(error) = deleted {
                tracing::debug!(%error, path, "cannot delete the recording of an answer");
            }
        }
    }
}

/// Returns the additional timeout for sending these files.
pub(crate) fn extra_time(files: &[LoadedFile]) -> Duration {
    let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
    Duration::from_secs(bytes / SLOWEST)
}

/// Returns a file's path in the workspace and its name for the recipient.
fn workspace_path(attachment: &Attachment) -> Option<(&str, &str)> {
    let AttachmentSource::Workspace(path) = &attachment.source else { return None };
    let last = || path.rsplit('/').next().unwrap_or(path);
    Some((path, attachment.name.as_deref().unwrap_or_else(last)))
}
