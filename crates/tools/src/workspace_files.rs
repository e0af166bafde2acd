//! Implements the port `Files` with the workspace and the directories beside it. The work runs in
//! threads that may block.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{LeastTrust, Trust};
use avocet_protocol::tool::{DirectoryNames, FileStart, Files, FilesError};
use avocet_sandbox::{EntryKind, FileError, RemoveMode, Workspace, WorkspaceRoots};
use avocet_supervise::run_blocking;

/// The files of a workspace, with the same restrictions as those of the tools.
#[derive(Debug, Clone)]
pub struct WorkspaceFiles(Arc<WorkspaceRoots>);

impl WorkspaceFiles {
    /// The files of these directories.
    #[must_use]
    pub fn new(roots: Arc<WorkspaceRoots>) -> Self {
        Self(roots)
    }

    /// Returns `true` if the workspace has no entry of this name. Each turn asks for several files
    /// that most workspaces lack, and this costs no thread.
    fn is_missing(&self, path: &str) -> bool {
        self.0.workspace().is_missing(path)
    }

    async fn run_in_workspace<T: Send + 'static>(
        &self,
        path: &str,
        trust: Trust,
        work: impl FnOnce(&Workspace, &str) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FilesError> {
        let roots = self.0.on_behalf(trust, &LeastTrust::default());
        let path = path.to_owned();
        let done = run_blocking(move || work(roots.root_of(&path)?, &path)).await;
        let done = done.map_err(|panicked| FilesError(panicked.to_string()))?;
        done.map_err(|error| FilesError(error.to_string()))
    }
}

#[async_trait]
impl Files for WorkspaceFiles {
    async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        let read =
            move |one: &Workspace, path: &str| one.read_up_to(&one.resolve_path(path)?, limit);
        self.run_in_workspace(path, Trust::Low, read).await
    }

    async fn start_of(&self, path: &str, limit: u64) -> Result<Option<FileStart>, FilesError> {
        if self.is_missing(path) {
            return Ok(None);
        }
        let start = self.run_in_workspace(path, Trust::Low, move |one, path| {
            let start = one.start_of(&one.resolve_path(path)?, limit)?;
            let trust = one.least_read();
            Ok(start.map(|(bytes, size)| FileStart { bytes, size, trust }))
        });
        start.await
    }

    async fn directories(
        &self,
        path: &str,
        most_entries: usize,
    ) -> Result<DirectoryNames, FilesError> {
        if self.is_missing(path) {
            return Ok(DirectoryNames::default());
        }
        let listed = self.run_in_workspace(path, Trust::Low, move |one, path| {
            let path = one.resolve_path(path)?;
            // A missing directory is usual here, so no similar names are searched for an error.
            if one.kind(&path)?.is_none() {
                return Ok(DirectoryNames::default());
            }
            let (names, has_more) = one.list_directory_names(&path, most_entries)?;
            Ok(DirectoryNames { names, has_more })
        });
        listed.await
    }

    async fn write(&self, path: &str, bytes: Vec<u8>, trust: Trust) -> Result<(), FilesError> {
        self.run_in_workspace(path, trust, move |one, path| {
            one.write_any(&one.resolve_path(path)?, &bytes)
        })
        .await
    }

    async fn delete(&self, path: &str) -> Result<(), FilesError> {
        let deleted = self.run_in_workspace(path, Trust::Low, move |one, path| {
            let path = one.resolve_path(path)?;
            match one.kind(&path)? {
                Some(EntryKind::File(_)) => one.remove_entry(&path, RemoveMode::Single).map(|_| ()),
                _ => Ok(()),
            }
        });
        deleted.await
    }
}

#[cfg(test)]
mod tests {
    use avocet_sandbox::MAX_FILE_BYTES;
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn workspace_files_read_and_write_inside_the_workspace_only() {
        let directory = TempDir::new().unwrap();
        let files =
            WorkspaceFiles::new(Arc::new(Workspace::open(directory.path()).unwrap().into()));
        let large = vec![7; MAX_FILE_BYTES as usize + 1];
        files.write("inbox/m1-0.bin", large.clone(), Trust::Low).await.unwrap();
        assert_eq!(files.read("inbox/m1-0.bin", u64::MAX).await.as_ref(), Ok(&large));
        let error = files.read("inbox/m1-0.bin", 10).await.unwrap_err().to_string();
        assert!(error.contains("at most 10 are read"), "{error}");
        let start = files.start_of("inbox/m1-0.bin", 10).await.unwrap().unwrap();
        assert_eq!((start.bytes, start.size), (vec![7; 10], large.len() as u64));
        assert_eq!(files.start_of("inbox/none", 10).await, Ok(None));
        assert!(files.start_of("inbox", 10).await.is_err(), "a directory is not a file");
        for path in ["../m1-0.bin", "/etc/passwd"] {
            let error = files.read(path, 10).await.unwrap_err().to_string();
            assert!(error.contains("outside the workspace"), "{error}");
            assert!(files.write(path, Vec::new(), Trust::Full).await.is_err());
            assert!(files.delete(path).await.is_err());
        }
        for path in ["inbox/m1-0.bin", "inbox/m1-0.bin", "inbox"] {
            assert_eq!(files.delete(path).await, Ok(()), "{path}");
        }
        assert_eq!(files.start_of("inbox/m1-0.bin", 10).await, Ok(None));
        assert!(directory.path().join("inbox").is_dir(), "only files are deleted");
    }
}
