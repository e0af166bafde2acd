//! The Markdown files in which a person reads and edits the memory. The log is the source of truth.
//! A file is compared with the text that was last written to it, and its edits go into the log in
//! one transaction. Then the log is written to the file.

mod files;
mod format;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::memory::{MemoryMirror, MirrorReport, Recall, RecalledMemory};
use avocet_protocol::store::{MemoryFiles, MemoryScope, StoreError};
use tokio::sync::{Mutex, MutexGuard};

use files::{FileComparison, ScopeFile, SyncError, file_names};
use place::{FileFault, FilePlace, FileStamp};

/// Attempts to replace a file that a person saves again and again.
const ATTEMPTS: usize = 5;

/// Keeps one file for each scope equal to the log.
#[derive(Debug)]
pub struct FileMirror {
    log: Arc<dyn MemoryFiles>,
    directory: PathBuf,
    state: Mutex<MirrorState>,
}

#[derive(Debug, Default)]
struct MirrorState {
    /// All scopes were compared with this change of the log; `None` before the first comparison.
    synced_to: Option<MemoryChangeId>,
    files: BTreeMap<MemoryScope, KnownFile>,
    /// Files whose scope is unknown, with the fault.
    strangers: BTreeMap<String, FileFault>,
}

/// The last comparison of a file.
#[derive(Debug)]
struct KnownFile {
    place: FilePlace,
    /// `None` without a file, or if it has to be read again.
    stamp: Option<FileStamp>,
    conflicts: Vec<MemoryId>,
    /// The fault that a person has to correct.
    problem: Option<String>,
}

/// The reason for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncCause {
    /// The log has changed.
    Log,
    /// A person may have changed the file.
    File,
}

impl FileMirror {
    /// Touches no file before [`Self::run`].
    #[must_use]
    pub fn new(log: Arc<dyn MemoryFiles>, directory: PathBuf) -> Self {
        Self { log, directory, state: Mutex::default() }
    }

    /// Brings the files up to date at the start and after each change of the log. Never returns.
    pub async fn run(&self) {
        let mut synced = self.sync_all().await.map(drop);
        loop {
            if let Err(error) = synced {
                tracing::warn!(
                    "cannot mirror memories in files: {error}; retrying after the next change"
                );
            }
            self.log.memories_changed().await;
            synced = self.sync_changed().await.map(drop);
        }
    }

    /// Takes in the edits of these scopes. A fault is only logged: an answer must not fail for it.
    async fn take_in(&self, scopes: &[MemoryScope]) {
        let mut state = self.state.lock().await;
        for scope in scopes {
            if let Err(error) = self.sync_scope(&mut state, scope, SyncCause::File).await {
                tracing::warn!(
                    "cannot take edits of memory files into the log: {error}; retrying before the \
                        next turn"
                );
            }
        }
    }

    async fn sync_changed(&self) -> Result<u64, StoreError> {
        let mut state = self.state.lock().await;
        let changed = self.log.changed_scopes(state.synced_to.unwrap_or(MemoryChangeId(0))).await?;
        let mut taken_in = 0;
        for scope in changed.scopes {
            taken_in += self.sync_scope(&mut state, &scope, SyncCause::Log).await?;
        }
        state.synced_to = Some(changed.last);
        Ok(taken_in)
    }

    /// Compares a file with the log. Returns the number of edits.
    async fn sync_scope(
        &self,
        state: &mut MutexGuard<'_, MirrorState>,
        scope: &MemoryScope,
        cause: SyncCause,
    ) -> Result<u64, StoreError> {
        let known = state.files.entry(scope.clone());
        let known = known.or_insert_with(|| KnownFile::new(&self.directory, scope));
        let file = ScopeFile::new(self.log.clone(), scope, known.place.clone());
        if cause == SyncCause::File && file.is_unchanged(known.stamp) {
            return Ok(0);
        }
        let mut taken_in = 0;
        for _ in 0..ATTEMPTS {
            // A comparison that fails is repeated.
            known.stamp = None;
            match file.compare_with_log().await {
                Ok(FileComparison { edits, equal: None }) => taken_in += edits,
                Ok(FileComparison { edits, equal: Some(equal) }) => {
                    known.stamp = equal.stamp;
                    known.conflicts = equal.conflicts;
                    known.set_problem(equal.problem);
                    return Ok(taken_in + edits);
                }
                Err(SyncError::Store(error)) => return Err(error),
                Err(SyncError::File(fault)) => {
                    known.stamp = file.stamp_on_disk().await;
                    known.set_problem(Some(file.describe_fault(&fault)));
                    return Ok(taken_in);
                }
            }
        }
        Ok(taken_in)
    }

    /// Compares the files of scopes without memories, too.
    async fn sync_written(&self) -> Result<u64, StoreError> {
        let names = file_names(&self.directory).await;
        let mut state = self.state.lock().await;
        let known: BTreeSet<String> =
            state.files.values().map(|known| known.place.file_name().to_owned()).collect();
        let mut scopes = BTreeSet::from([MemoryScope::Everyone]);
        let mut strangers = BTreeMap::new();
        for name in names.into_iter().filter(|name| !known.contains(name)) {
            match files::scope_of(&self.directory, &name).await {
                Ok(scope) => drop(scopes.insert(scope)),
                Err(fault) => drop(strangers.insert(name, fault)),
            }
        }
        for (name, fault) in &strangers {
            if state.strangers.get(name) != Some(fault) {
                tracing::warn!("memory file {name} is not read: {fault}; correct or remove it");
            }
        }
        state.strangers = strangers;
        scopes.extend(state.files.keys().cloned());
        let mut taken_in = 0;
        for scope in scopes {
            taken_in += self.sync_scope(&mut state, &scope, SyncCause::File).await?;
        }
        Ok(taken_in)
    }
}

#[async_trait]
impl MemoryMirror for FileMirror {
    async fn sync_all(&self) -> Result<MirrorReport, StoreError> {
        let edits = self.sync_written().await? + self.sync_changed().await?;
        let state = self.state.lock().await;
        let strangers = state.strangers.iter().map(|(name, fault)| format!("{name}: {fault}"));
        let problems = state.files.values().filter_map(|known| known.problem.clone());
        let conflicts = state.files.values().flat_map(|known| known.conflicts.clone());
        Ok(MirrorReport {
            taken_in: edits,
            conflicts: conflicts.collect(),
            problems: strangers.chain(problems).collect(),
        })
    }
}

impl KnownFile {
    fn new(directory: &Path, scope: &MemoryScope) -> Self {
        let place = FilePlace::from_scope(directory, scope);
        Self { place, stamp: None, conflicts: Vec::new(), problem: None }
    }

    fn set_problem(&mut self, problem: Option<String>) {
        if let Some(problem) =
            problem.as_ref().filter(|problem| self.problem.as_ref() != Some(problem))
        {
            tracing::warn!("memory file needs a correction: {problem}");
        }
        self.problem = problem;
    }
}

/// Takes in the edits of people before it recalls.
#[derive(Debug)]
pub struct MirroredRecall {
    recall: Arc<dyn Recall>,
    mirror: Arc<FileMirror>,
}

impl MirroredRecall {
    /// Recalls from these memories, which the mirror keeps up to date.
    #[must_use]
    pub fn new(recall: Arc<dyn Recall>, mirror: Arc<FileMirror>) -> Self {
        Self { recall, mirror }
    }
}

#[async_trait]
impl Recall for MirroredRecall {
    async fn recall(
        &self,
        scopes: &[MemoryScope],
        query: &str,
        budget_tokens: u64,
    ) -> Result<Vec<RecalledMemory>, StoreError> {
        self.mirror.take_in(scopes).await;
        self.recall.recall(scopes, query, budget_tokens).await
    }
}

#[cfg(test)]
#[path = "mirror_tests.rs"]
mod tests;
