//! A workspace in memory, which can refuse writes as if the disk were full.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::ids::TurnId;
use avocet_protocol::tool::{DirectoryNames, FileStart, Files, FilesError, Workspaces};
use parking_lot::Mutex;

/// Files by their paths relative to the workspace.
#[derive(Debug, Default)]
pub struct FakeFiles {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    marks: Mutex<BTreeMap<String, Trust>>,
    refusals: Mutex<usize>,
}

impl FakeFiles {
    /// Writes a file.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.files.lock().insert(path.to_owned(), bytes.to_vec());
    }

    /// Sets the trust level of a path.
    pub fn mark(&self, path: &str, trust: Trust) {
        self.marks.lock().insert(path.to_owned(), trust);
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.files.lock().remove(path);
    }

    /// Returns the content of a file, or `None` if it does not exist.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.files.lock().get(path).cloned()
    }

    /// Refuses the next `count` writes.
    pub fn refuse_writes(&self, count: usize) {
        *self.refusals.lock() = count;
    }
}

#[async_trait]
impl Files for FakeFiles {
    async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        match self.get(path) {
            None => Err(FilesError(format!("{path} does not exist"))),
            Some(bytes) if bytes.len() as u64 > limit => {
                Err(FilesError(format!("{path} is {} bytes long", bytes.len())))
            }
            Some(bytes) => Ok(bytes),
        }
    }

    async fn start_of(&self, path: &str, limit: u64) -> Result<Option<FileStart>, FilesError> {
        let trust = self.marks.lock().get(path).copied().unwrap_or_default();
        Ok(self.get(path).map(|mut bytes| {
            let size = bytes.len() as u64;
            bytes.truncate(usize::try_from(limit).unwrap());
            FileStart { bytes, size, trust }
        }))
    }

    async fn directories(
        &self,
        path: &str,
        most_entries: usize,
    ) -> Result<DirectoryNames, FilesError> {
        let files = self.files.lock();
        let below = files.keys().filter_map(|file| file.strip_prefix(path)?.strip_prefix('/'));
        let names: BTreeSet<&str> =
            below.filter_map(|below| Some(below.split_once('/')?.0)).collect();
        let has_more = names.len() > most_entries;
        let names = names.into_iter().take(most_entries).map(str::to_owned).collect();
        Ok(DirectoryNames { names, has_more })
    }

    async fn write(&self, path: &str, bytes: Vec<u8>, trust: Trust) -> Result<(), FilesError> {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err(FilesError(format!("{path} is outside the workspace")));
        }
        let mut refusals = self.refusals.lock();
        if *refusals > 0 {
            *refusals -= 1;
            return Err(FilesError(format!("{path}: No space left on device")));
        }
        self.put(path, &bytes);
        self.mark(path, trust);
        Ok(())
    }

    async fn delete(&self, path: &str) -> Result<(), FilesError> {
        self.remove(path);
        Ok(())
    }
}

/// The same workspace for every turn.
#[derive(Debug, Default)]
pub struct OneWorkspace(pub Arc<FakeFiles>);

#[async_trait]
impl Workspaces for OneWorkspace {
    async fn find_workspace(&self, _turn: Option<TurnId>) -> Result<Arc<dyn Files>, FilesError> {
        Ok(self.0.clone())
    }
}
