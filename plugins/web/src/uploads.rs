//! Files that people upload in the console, in a directory of the daemon.

use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use avocet_protocol::channel::{
    FetchError, UploadError, UploadSink, UploadedFile, Uploads, WEB_ACCOUNT, WEB_CHANNEL,
};
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ignore_result;
use avocet_supervise::run_blocking;
use avocet_text::plain_io;

/// The time for which an upload is kept after its last use.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// The end of the name of an unfinished upload.
const UNFINISHED: &str = ".part";

/// The uploads of the console, one file each. The name of a file is its reference.
#[derive(Debug)]
pub struct UploadStore {
    directory: PathBuf,
    /// Bytes of the largest file.
    limit: u64,
    clock: Arc<dyn Clock>,
}

impl UploadStore {
    /// Keeps files of at most `limit` bytes in a directory, which the first upload makes.
    #[must_use]
    pub fn new(directory: PathBuf, limit: u64, clock: Arc<dyn Clock>) -> Self {
        Self { directory, limit, clock }
    }

    /// Reads a file, which counts as a use.
    ///
    /// # Errors
    /// [`FetchError`] if there is no such file, or it is larger than `limit` bytes.
    pub async fn read(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let gone = || FetchError::Gone("the upload does not exist any more".to_owned());
        let path = self.find_path(reference).ok_or_else(gone)?;
        let now = self.clock.now();
        let read = run_blocking(move || read(&path, limit, now)).await;
        match read.unwrap_or_else(|panicked| Err(io::Error::other(panicked.to_string()))) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(FetchError::TooLarge { limit }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(gone()),
            Err(error) => {
                Err(FetchError::Failed(format!("cannot read the upload: {}", plain_io(&error))))
            }
        }
    }

    /// Removes the files that were last used more than a week ago.
    pub(crate) async fn remove_old(&self) {
        let (directory, before) = (self.directory.clone(), self.clock.now().before(KEPT));
        let removed = run_blocking(move || remove_old(&directory, before)).await;
        match removed.unwrap_or_else(|panicked| Err(io::Error::other(panicked.to_string()))) {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "removed old uploads of the web console"),
            Err(error) => {
                let error = plain_io(&error);
                tracing::warn!(error, "cannot remove old uploads; retrying in 1 h");
            }
        }
    }

    /// Returns the size of the largest file, in bytes.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.limit
    }

    /// Returns the path of a file; `None` if the reference is malformed.
    pub(crate) fn find_path(&self, reference: &str) -> Option<PathBuf> {
        let is_reference =
            reference.len() == 32 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_reference.then(|| self.directory.join(reference))
    }
}

#[async_trait]
impl Uploads for UploadStore {
    async fn begin(&self) -> Result<Box<dyn UploadSink>, UploadError> {
        let reference = uuid::Uuid::new_v4().simple().to_string();
        let path = self.directory.join(&reference);
        let unfinished = UnfinishedFile(self.directory.join(format!("{reference}{UNFINISHED}")));
        let (directory, place) = (self.directory.clone(), unfinished.0.clone());
        let file = in_file(move || create(&directory, &place)).await?;
        Ok(Box::new(OpenUpload {
            reference,
            path,
            unfinished,
            file: Some(file),
            bytes: 0,
            limit: self.limit,
            clock: self.clock.clone(),
        }))
    }

    fn serves(&self, chat: &ChatAddress) -> bool {
        chat.channel.as_str() == WEB_CHANNEL && chat.account.as_str() == WEB_ACCOUNT
    }

    async fn has(&self, reference: &str) -> bool {
        let Some(path) = self.find_path(reference) else { return false };
        run_blocking(move || path.is_file()).await.unwrap_or(false)
    }
}

/// The path of an unfinished upload. Dropping this value removes the file.
#[derive(Debug)]
struct UnfinishedFile(PathBuf);

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        ignore_result(fs::remove_file(&self.0), "a finished file has another name");
    }
}

/// A file that is being uploaded.
#[derive(Debug)]
struct OpenUpload {
    reference: String,
    path: PathBuf,
    unfinished: UnfinishedFile,
    /// `None` after an error.
    file: Option<File>,
    bytes: u64,
    limit: u64,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl UploadSink for OpenUpload {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), UploadError> {
        let mut file = self.file.take().ok_or_else(ended)?;
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > self.limit {
            return Err(UploadError::TooLarge { limit: self.limit });
        }
        let bytes = bytes.to_owned();
        self.file = Some(in_file(move || file.write_all(&bytes).map(|()| file)).await?);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<UploadedFile, UploadError> {
        let Self { reference, path, unfinished, file, bytes, clock, .. } = *self;
        let (file, now) = (file.ok_or_else(ended)?, clock.now());
        in_file(move || {
            use_at(&file, now)?;
            file.sync_all()?;
            fs::rename(&unfinished.0, &path)
        })
        .await?;
        Ok(UploadedFile { reference, bytes })
    }
}

fn ended() -> UploadError {
    UploadError::Failed("an earlier part of it failed".to_owned())
}

/// Runs blocking work on a file.
pub(crate) async fn in_file<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, UploadError> {
    let done =
        run_blocking(work).await.map_err(|panicked| UploadError::Failed(panicked.to_string()))?;
    done.map_err(|error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => UploadError::Full(plain_io(&error)),
        _ => UploadError::Failed(plain_io(&error)),
    })
}

fn create(directory: &Path, path: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes a new file that the owner alone reads.
pub(crate) fn write_new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Reads a whole file, and marks it as used; `None` if it is larger than `limit` bytes.
fn read(path: &Path, limit: u64, now: Timestamp) -> io::Result<Option<Vec<u8>>> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut bytes = Vec::new();
    (&file).take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    use_at(&file, now)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Sets the time of the last use.
fn use_at(file: &File, now: Timestamp) -> io::Result<()> {
    file.set_times(FileTimes::new().set_modified(system_time(now)))
}

fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}

/// Removes the files whose last change is older than `before`, and returns their number.
fn remove_old(directory: &Path, before: Timestamp) -> io::Result<u64> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let before = system_time(before);
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        if entry.metadata()?.modified()? < before {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use avocet_testkit::ManualClock;
    use tempfile::TempDir;

    use super::*;

    struct World {
        directory: TempDir,
        clock: Arc<ManualClock>,
        store: UploadStore,
    }

    impl World {
        fn new() -> Self {
            let (directory, clock) = (TempDir::new().unwrap(), Arc::<ManualClock>::default());
            let store = UploadStore::new(directory.path().join("web/uploads"), 8, clock.clone());
            Self { directory, clock, store }
        }

        fn names(&self) -> Vec<String> {
            let Ok(entries) = fs::read_dir(self.directory.path().join("web/uploads")) else {
                return Vec::new();
            };
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }

        async fn upload(&self, pieces: &[&[u8]]) -> Result<UploadedFile, UploadError> {
            let mut upload = self.store.begin().await?;
            for piece in pieces {
                upload.write(piece).await?;
            }
            upload.finish().await
        }
    }

    #[tokio::test]
    async fn upload_is_stored_for_the_owner_alone_and_read_back() {
        let world = World::new();
        let stored = world.upload(&[b"0123", b"4567"]).await.unwrap();
        assert_eq!(stored.bytes, 8);
        assert!(world.store.has(&stored.reference).await);
        assert_eq!(world.store.read(&stored.reference, 8).await, Ok(b"01234567".to_vec()));
        let mode = |below: &str| {
            let path = world.directory.path().join("web/uploads").join(below);
            fs::metadata(path).unwrap().mode() & 0o777
        };
        assert_eq!((mode(""), mode(&stored.reference)), (0o700, 0o600));
        assert_eq!(world.names(), [stored.reference]);
    }

    #[tokio::test]
    async fn upload_that_is_too_large_or_dropped_leaves_no_file() {
        let world = World::new();
        let large = world.upload(&[b"01234567", b"8"]).await;
        assert_eq!(large, Err(UploadError::TooLarge { limit: 8 }));
        let mut dropped = world.store.begin().await.unwrap();
        dropped.write(b"0").await.unwrap();
        assert_eq!(world.names().len(), 1);
        drop(dropped);
        assert_eq!(world.names(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn upload_after_an_error_does_not_end_well() {
        let world = World::new();
        let mut upload = world.store.begin().await.unwrap();
        assert!(upload.write(&[0; 9]).await.is_err());
        assert!(matches!(upload.write(&[0]).await, Err(UploadError::Failed(_))));
        assert!(matches!(upload.finish().await, Err(UploadError::Failed(_))));
        assert_eq!(world.names(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn remove_old_keeps_files_that_were_used_within_a_week() {
        let world = World::new();
        world.store.remove_old().await;
        let (unused, used) = (world.upload(&[b"1"]).await, world.upload(&[b"2"]).await);
        let (unused, used) = (unused.unwrap().reference, used.unwrap().reference);
        world.clock.advance(KEPT);
        world.store.read(&used, 8).await.unwrap();
        world.store.remove_old().await;
        assert!(world.store.has(&unused).await, "a week has not passed");
        world.clock.advance(Duration::from_secs(1));
        world.store.remove_old().await;
        assert_eq!(world.names(), [used]);
        let gone = world.store.read(&unused, 8).await;
        assert!(matches!(gone, Err(FetchError::Gone(_))), "{gone:?}");
    }
}
