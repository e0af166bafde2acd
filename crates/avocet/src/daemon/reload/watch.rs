//! Notices changes of the configuration file.

use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_config::ConfigDocument;
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::MAX_CONFIG_BYTES;
use avocet_sandbox::digest_bytes;
use avocet_supervise::run_blocking;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::components::places::config_place;
use crate::context::Global;

/// The interval between two looks at the configuration file without an event of its directory, for
/// example because the file is a link to another directory.
const EVERY: Duration = Duration::from_mins(1);
/// The interval while the file changes.
const SETTLING: Duration = Duration::from_secs(1);

/// Compares the file with the one that was read last. Editors write in several steps, so a change
/// counts once two looks in a row have found the same content.
#[derive(Debug)]
pub(super) struct FileWatch {
    /// `None` if the file has no place.
    path: Option<PathBuf>,
    /// The content that was read last; `None` if there was no file.
    known: Option<String>,
    /// Another content, found by the last look.
    found: Option<Option<String>>,
    /// The last look at the file's inode, which tells whether a look at the content is due.
    looked_at: Option<FileStamp>,
}

/// Wakes the daemon when something changes in the directory of the file (inotify(7)).
#[derive(Debug)]
pub(super) struct DirectoryEvents(Option<AsyncFd<OwnedFd>>);

impl DirectoryEvents {
    /// Starts to watch. Without a directory, no event comes.
    pub(super) fn watch_directory(watch: &FileWatch) -> Self {
        let directory = watch.path.as_deref().and_then(Path::parent);
        let events = directory.map(Self::open).transpose();
        Self(events.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot watch the directory of the configuration");
            None
        }))
    }

    #[expect(deprecated, reason = "the descriptor is owned; the replacement needs unsafe code")]
    fn open(directory: &Path) -> io::Result<AsyncFd<OwnedFd>> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let changes = WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM;
        inotify::add_watch(&events, directory, changes)?;
        AsyncFd::with_interest(events, Interest::READABLE)
    }

    /// Waits for the next change.
    pub(super) async fn next(&self) {
        let Some(events) = &self.0 else { return std::future::pending().await };
        let Ok(mut ready) = events.readable().await else { return std::future::pending().await };
        // Only the fact of a change counts.
        let mut read = [0; 4096];
        while rustix::io::read(events, &mut read).is_ok_and(|bytes| bytes > 0) {}
        ready.clear_ready();
    }
}

/// The values that change with every write of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileWatch {
    /// Watches the file of a document, or the place where its file would be.
    pub(super) fn new(global: &Global, document: &ConfigDocument) -> Self {
        let path = document.path().map(Path::to_owned).or_else(|| config_place(global));
        let known = document.path().map(|_| digest_bytes(document.text().as_bytes()));
        Self { path, known, found: None, looked_at: None }
    }

    /// Waits until a look at the file is due.
    pub(super) async fn next_look(&self, events: &DirectoryEvents, clock: &dyn Clock) {
        let is_settling = self.found.is_some();
        let pause = if is_settling { SETTLING } else { EVERY };
        tokio::select! {
            // An event must not shorten the wait for the same content.
            () = events.next(), if !is_settling => {}
            () = clock.sleep(pause) => {}
        }
    }

    /// Returns `true` if the file has changed and the change has settled.
    pub(super) async fn has_changed(&mut self) -> bool {
        let Some(path) = &self.path else { return false };
        let stamp = FileStamp::read_stamp(path);
        if self.found.is_none() && self.looked_at == stamp {
            return false;
        }
        self.looked_at = stamp;
        let content = read_content(path).await;
        if content == self.known {
            self.found = None;
            return false;
        }
        let content = Some(content);
        let has_settled = self.found == content;
        self.found = content;
        has_settled
    }

    /// Notes that the file is read now.
    pub(super) async fn note_content(&mut self) {
        let Some(path) = &self.path else { return };
        self.known = read_content(path).await;
        self.found = None;
    }
}

impl FileStamp {
    fn read_stamp(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// Returns the digest of a file; `None` if it cannot be read. Of a file that is too long for a
/// configuration, only the beginning counts.
async fn read_content(path: &Path) -> Option<String> {
    let path = path.to_owned();
    let read = run_blocking(move || {
        let mut bytes = Vec::new();
        let mut file = fs::File::open(path)?.take(MAX_CONFIG_BYTES as u64 + 1);
        file.read_to_end(&mut bytes).map(|_| digest_bytes(&bytes))
    });
    read.await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use avocet_testkit::ManualClock;
    use tempfile::TempDir;

    use super::*;

    /// Writes a configuration file and watches it.
    fn watched() -> (TempDir, PathBuf, FileWatch) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        fs::write(&path, "a = 1\n").unwrap();
        let document =
            ConfigDocument::read(&path, &|_| None, avocet_config::UsedReferences::All).unwrap();
        let watch = FileWatch::new(&Global { config: None, log: None }, &document);
        (directory, path, watch)
    }

    async fn looks(watch: &mut FileWatch, count: usize) -> Vec<bool> {
        let mut found = Vec::new();
        for _ in 0..count {
            found.push(watch.has_changed().await);
        }
        found
    }

    #[tokio::test]
    async fn has_changed_waits_until_the_same_content_is_found_twice() {
        let (_directory, path, mut watch) = watched();
        let write = |text: &str| fs::write(&path, text).unwrap();
        assert_eq!(looks(&mut watch, 3).await, [false, false, false]);
        write("a = 12\n");
        assert_eq!(looks(&mut watch, 1).await, [false], "the editor may still write");
        write("a = 123\n");
        assert_eq!(looks(&mut watch, 3).await, [false, true, true]);
        write("a = 1\n");
        assert_eq!(looks(&mut watch, 2).await, [false, false], "the old content is back");
        fs::remove_file(&path).unwrap();
        assert_eq!(looks(&mut watch, 2).await, [false, true]);
        watch.note_content().await;
        assert_eq!(looks(&mut watch, 1).await, [false]);
        write("a = 1\n");
        assert_eq!(looks(&mut watch, 2).await, [false, true]);
    }

    #[tokio::test]
    async fn next_look_waits_for_the_whole_settling_time_in_spite_of_events() {
        let (_directory, path, mut watch) = watched();
        let clock = ManualClock::default();
        let [events, same_events] = [(); 2].map(|()| DirectoryEvents::watch_directory(&watch));
        fs::write(&path, "a = 12\n").unwrap();
        assert_eq!(looks(&mut watch, 1).await, [false], "the editor may still write");
        {
            let mut look = pin!(watch.next_look(&events, &clock));
            tokio::select! {
                biased;
                () = &mut look => panic!("an event has ended the wait"),
                () = same_events.next() => {}
            }
            clock.advance(SETTLING);
            look.await;
        }
        assert_eq!(looks(&mut watch, 1).await, [true]);
        watch.note_content().await;
        watch.next_look(&events, &clock).await;
    }
}
