//! The bytes of what is sent: read from the workspace before the send begins, gone when it is over.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{
    Attachment, AttachmentSource, Delivery, FilesError, LoadedFile, MAX_SENT_FILE_BYTES, Workspaces,
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Chunks whose files are in memory at the same time, over all chats.
const AT_ONCE: usize = 4;
/// The slowest line that a file is sent over, in bytes a second.
const SLOWEST: u64 = 128 * 1024;

/// Reads what is sent, for a few chunks at a time.
#[derive(Debug, Clone)]
pub(crate) struct Loader {
    workspaces: Arc<dyn Workspaces>,
    at_once: Arc<Semaphore>,
}

/// What is sent with a chunk, and the place in memory that it takes.
#[derive(Debug, Default)]
pub(crate) struct Loaded<'a> {
    pub(crate) files: Vec<LoadedFile>,
    _place: Option<SemaphorePermit<'a>>,
}

impl Loader {
    pub(crate) fn new(workspaces: Arc<dyn Workspaces>) -> Self {
        Self { workspaces, at_once: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Reads the files of a chunk.
    pub(crate) async fn load(&self, chunk: &Delivery) -> Result<Loaded<'_>, FilesError> {
        let mut paths = chunk.content.attachments.iter().filter_map(path).peekable();
        if paths.peek().is_none() {
            return Ok(Loaded::default());
        }
        // The semaphore is never closed.
        let place = self.at_once.acquire().await.ok();
        let workspace = self.workspaces.of(chunk.turn).await?;
        let mut files = Vec::new();
        for (path, name) in paths {
            let bytes = workspace.read(path, MAX_SENT_FILE_BYTES).await?;
            files.push(LoadedFile { name: name.to_owned(), bytes: bytes.into() });
        }
        Ok(Loaded { files, _place: place })
    }
}

/// How much longer than a text the files may take.
pub(crate) fn extra_time(files: &[LoadedFile]) -> Duration {
    let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
    Duration::from_secs(bytes / SLOWEST)
}

/// Where a file is in the workspace, and what it is called where it goes.
fn path(attachment: &Attachment) -> Option<(&str, &str)> {
    let AttachmentSource::Workspace(path) = &attachment.source else { return None };
    let last = || path.rsplit('/').next().unwrap_or(path);
    Some((path, attachment.name.as_deref().unwrap_or_else(last)))
}
