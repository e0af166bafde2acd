//! The file of one scope: its comparison with the log.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{
    EditedFile, MemoryFiles, MemoryScope, StoreError, TakenEdit, TakenEditKind, conflicts_with,
};
use avocet_supervise::run_blocking;

use super::format::{ParsedFile, render_scope};
use super::place::{
    FileFault, FilePlace, FileStamp, MOST_BYTES, ReadFile, ReplacedFile, digest_parts, file_name,
    read,
};

#[derive(Debug)]
pub(super) struct ScopeFile<'s> {
    log: Arc<dyn MemoryFiles>,
    scope: &'s MemoryScope,
    place: FilePlace,
}

/// The result of a comparison.
#[derive(Debug)]
pub(super) struct FileComparison {
    /// Number of edits that were taken into the log.
    pub(super) edits: u64,
    /// `None` if a person has saved the file meanwhile.
    pub(super) equal: Option<EqualFile>,
}

/// A file that shows the present log.
#[derive(Debug)]
pub(super) struct EqualFile {
    /// `None` without a file.
    pub(super) stamp: Option<FileStamp>,
    pub(super) conflicts: Vec<MemoryId>,
    pub(super) problem: Option<String>,
}

/// The reason why a file and the log differ.
#[derive(Debug, thiserror::Error)]
pub(super) enum SyncError {
    #[error(transparent)]
    File(#[from] FileFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The edits of a file, and the lines that are not entries.
#[derive(Debug)]
struct TakenFile {
    edits: u64,
    rest: Vec<String>,
}

impl<'s> ScopeFile<'s> {
    pub(super) fn new(log: Arc<dyn MemoryFiles>, scope: &'s MemoryScope, place: FilePlace) -> Self {
        Self { log, scope, place }
    }

    /// Looks at metadata only, which takes less time than the way to a thread for blocking work.
    pub(super) fn is_unchanged(&self, known: Option<FileStamp>) -> bool {
        self.place.current_stamp() == known && !self.place.has_other()
    }

    pub(super) async fn stamp_on_disk(&self) -> Option<FileStamp> {
        self.on_disk(|place| Ok(place.current_stamp())).await.unwrap_or_default()
    }

    pub(super) fn describe_fault(&self, fault: &FileFault) -> String {
        format!("{}: {fault}", self.place.file_path().display())
    }

    /// Takes in the edits of the file, and writes the log to it.
    pub(super) async fn compare_with_log(&self) -> Result<FileComparison, SyncError> {
        let mut edits = self.take_in_other().await?;
        let before = self.on_disk(FilePlace::read).await?;
        let mut rest = Vec::new();
        if let Some(ReadFile { bytes, .. }) = &before {
            let taken = self.take_in(bytes).await?;
            (edits, rest) = (edits + taken.edits, taken.rest);
        }
        let memories = self.log.memories_of(self.scope).await?;
        let has_conflict =
            |memory: &&avocet_protocol::store::Memory| conflicts_with(&memory.text).is_some();
        let conflicts = memories.memories.iter().filter(has_conflict).map(|memory| memory.id);
        let (conflicts, problem) = (conflicts.collect(), self.problem_of(&rest));
        if before.is_none() && memories.memories.is_empty() {
            let equal = Some(EqualFile { stamp: None, conflicts, problem });
            return Ok(FileComparison { edits, equal });
        }
        let export = render_scope(self.scope, &memories, &rest).into_bytes();
        if export.len() as u64 > MOST_BYTES {
            return Err(FileFault::TooMany(export.len()).into());
        }
        let stamp = match before {
            Some(ReadFile { stamp, bytes }) if bytes == export => Some(stamp),
            before => {
                match self
                    .on_disk(move |place| place.replace_content(before.as_ref(), &export))
                    .await?
                {
                    ReplacedFile::Done(stamp) => Some(stamp),
                    ReplacedFile::Displaced => return Ok(FileComparison { edits, equal: None }),
                }
            }
        };
        Ok(FileComparison { edits, equal: Some(EqualFile { stamp, conflicts, problem }) })
    }

    fn problem_of(&self, rest: &[String]) -> Option<String> {
        let lines = rest.iter().filter(|line| !line.trim().is_empty()).count();
        let file = self.place.file_path();
        (lines > 0).then(|| {
            format!(
                "{}: it has lines that are not part of the memory ({lines}); see \"Not taken in\" at its end",
                file.display()
            )
        })
    }

    /// Takes in a content that changed places with an export, perhaps before the process died.
    async fn take_in_other(&self) -> Result<u64, SyncError> {
        let taken = match self.on_disk(FilePlace::read_other).await {
            Ok(None) => return Ok(0),
            Ok(Some(ReadFile { bytes, .. })) => self.take_in(&bytes).await,
            Err(fault) => Err(fault.into()),
        };
        let edits = match taken {
            Ok(TakenFile { edits, rest }) if rest.is_empty() => {
                self.on_disk(FilePlace::remove_other).await?;
                return Ok(edits);
            }
            Ok(TakenFile { edits, .. }) => edits,
            Err(SyncError::Store(error)) => return Err(error.into()),
            Err(SyncError::File(_)) => 0,
        };
        let kept = self.on_disk(FilePlace::keep_other).await?;
        tracing::warn!(
            "a version of a memory file that was saved during its replacement cannot be read as a \
                whole; it is kept as {}",
            kept.display()
        );
        Ok(edits)
    }

    /// Takes the edits of a content into the log.
    async fn take_in(&self, bytes: &[u8]) -> Result<TakenFile, SyncError> {
        let text =
            str::from_utf8(bytes).map_err(|error| FileFault::NotText(error.valid_up_to()))?;
        let memories = self.log.memories_of(self.scope).await?.memories;
        let ParsedFile { scope, shown_to, entries, rest } = ParsedFile::read(text, &memories);
        if let Some(named) = scope.filter(|named| named != self.scope) {
            return Err(FileFault::OtherScope(named).into());
        }
        let digest = digest_parts(&[self.scope.to_string().as_bytes(), bytes]);
        let edited = EditedFile { scope: self.scope.clone(), digest, shown_to, entries };
        let taken = self.log.take_in(&edited).await?;
        self.log_edits(&taken);
        Ok(TakenFile { edits: taken.len() as u64, rest })
    }

    fn log_edits(&self, edits: &[TakenEdit]) {
        let file = self.place.file_path();
        let file = file.display();
        for TakenEdit { memory, kind } in edits {
            match kind {
                TakenEditKind::Conflict(with) => tracing::warn!(
                    "{with} was changed after {file} was written: your version of it is {memory}; keep \
                        one of both"
                ),
                TakenEditKind::Kept => tracing::warn!(
                    "{memory} was changed after {file} was written: it is kept although its entry was \
                        removed"
                ),
                TakenEditKind::Added | TakenEditKind::Changed | TakenEditKind::Forgotten => {
                    tracing::info!(%memory, ?kind, "an edit of {file} is in the log");
                }
            }
        }
    }

    /// Does work with the file on a thread for blocking work.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FilePlace) -> Result<T, FileFault> + Send + 'static,
    ) -> Result<T, FileFault> {
        let place = self.place.clone();
        let done = run_blocking(move || work(&place)).await;
        done.unwrap_or_else(|panicked| Err(FileFault::Io(panicked.to_string())))
    }
}

/// Returns the names of the memory files in a directory.
pub(super) async fn file_names(directory: &Path) -> BTreeSet<String> {
    let directory = directory.to_owned();
    let names = run_blocking(move || {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".md") && !name.starts_with('.')).collect()
    });
    names.await.unwrap_or_default()
}

/// Returns the scope of a file by its heading. Its name must be that of the scope.
pub(super) async fn scope_of(directory: &Path, name: &str) -> Result<MemoryScope, FileFault> {
    if name == file_name(&MemoryScope::Everyone) {
        return Ok(MemoryScope::Everyone);
    }
    let path = directory.join(name);
    let found = run_blocking(move || read(&path)).await;
    let found = found.unwrap_or_else(|panicked| Err(FileFault::Io(panicked.to_string())))?;
    let text = found.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let scope = ParsedFile::read(&text.unwrap_or_default(), &[]).scope;
    let scope = scope.ok_or(FileFault::NoScope)?;
    match file_name(&scope) {
        expected if expected == name => Ok(scope),
        expected => Err(FileFault::OtherName { scope, expected }),
    }
}
