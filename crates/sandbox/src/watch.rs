//! What programs read and write in a workspace, as far as trust goes: who has opened a foreign file may have
//! written its words into every file that it has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use avocet_protocol::{LeastTrust, Trust};
use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::provenance::{handle_of, of_place};
use crate::tree::{is_in_tree, is_tree};
use crate::{Reached, Workspace};

/// Entries of a workspace that are looked at: about half a second. In a larger one nothing can be told.
const LOOK_AT: usize = 200_000;
/// Foreign files that are watched at most.
const WATCHED: usize = 4096;

/// How often the file system is asked for its time: longer than most take from one to the next.
const TOUCHES: usize = 5000;

/// A program that runs in a workspace. It is set up before the program starts and settled, or dropped, when
/// nothing of it is left.
#[derive(Debug)]
pub struct Watch {
    workspace: Workspace,
    run: Arc<Run>,
    is_settled: bool,
}

/// What is known of a program that runs.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the program can have written is no older than this.
    since: Time,
    /// Tells of opened files.
    queue: Option<OwnedFd>,
    /// The trust of each that is watched.
    watched: Mutex<BTreeMap<i32, Trust>>,
    /// The least trust of the request, and of what was opened so far.
    least: LeastTrust,
    /// The hosts that it has reached: what comes from there is anybody's.
    reached: Reached,
}

/// A time of the file system, in seconds and nanoseconds.
type Time = (i64, i64);

impl Workspace {
    /// Watches what a program opens that starts after this, on behalf of a request.
    #[must_use]
    pub fn watch(&self) -> Watch {
        let least = LeastTrust::default();
        least.lower(self.trust_of_writing().min(self.provenance.most()));
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let since = self.later_than(self.now());
        let run = Arc::new(Run {
            since,
            queue,
            watched: Mutex::default(),
            least,
            reached: Reached::default(),
        });
        // What is marked meanwhile is watched, too.
        self.provenance.began(&run);
        if run.least.get() > Trust::Low
            && let Err(error) = run.set_up(self)
        {
            tracing::warn!(%error, "nobody can tell what a program reads: it is not believed");
            run.least.lower(Trust::Low);
        }
        Watch { workspace: self.clone(), run, is_settled: false }
    }

    /// The file system's time once it is another than this, so that what was written just before is told from
    /// what is written from now on. Its clock ticks a few hundred times a second; where it ticks seldom, what was
    /// written just before is taken for the program's.
    fn later_than(&self, before: Time) -> Time {
        (0..TOUCHES).map(|_| self.now()).find(|now| *now > before).unwrap_or(before)
    }

    /// The file system's time; that of long ago where it cannot be known.
    fn now(&self) -> Time {
        self.provenance.touch(self.handle());
        let root = self.handle().dir_metadata();
        root.map_or((0, 0), |root| (root.ctime(), root.ctime_nsec()))
    }

    /// Looks at everything that is there, whatever it is called. Links are not followed.
    fn look_at_all(
        &self,
        look: impl FnMut(&Dir, &Path, &Metadata) -> io::Result<()>,
    ) -> io::Result<()> {
        self.look_at_all_below(PathBuf::new(), look)
    }

    /// The same in one directory.
    pub(crate) fn look_at_all_below(
        &self,
        start: PathBuf,
        mut look: impl FnMut(&Dir, &Path, &Metadata) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut open, mut seen) = (vec![(start, true)], 0);
        while let Some((path, is_own)) = open.pop() {
            let place = if path.as_os_str().is_empty() { ".".into() } else { path.clone() };
            let directory = match self.handle().open_dir(&place) {
                Ok(directory) => directory,
                // Not ours, and so closed to the program, too.
                Err(error) if error.kind() == ErrorKind::PermissionDenied && !is_own => continue,
                // It has gone since.
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(error),
            };
            for entry in directory.entries()?.flatten() {
                seen += 1;
                if seen > LOOK_AT {
                    return Err(io::Error::other(
                        "the workspace is too large to be looked through",
                    ));
                }
                let Ok(found) = entry.metadata() else { continue };
                let path = path.join(entry.file_name());
                look(&directory, &path, &found)?;
                if found.is_dir() {
                    open.push((path, found.uid() == geteuid().as_raw()));
                }
            }
        }
        Ok(())
    }
}

impl Watch {
    /// The least trust of the request, of the foreign files that were opened so far, and of the hosts that were
    /// reached.
    #[must_use]
    pub fn least(&self) -> Trust {
        self.run.least()
    }

    /// What is to be told the hosts that the program reaches: from then on it is not believed.
    #[must_use]
    pub fn reached(&self) -> Reached {
        self.run.reached.clone()
    }

    /// Marks what the program can have changed with the least trust of what it can have read, and returns the trust of
    /// what it has printed.
    #[must_use]
    pub fn settle(self) -> Trust {
        self.settle_but(&[])
    }

    /// As [`Self::settle`], without marking these files, which are known to hold nothing that git would run.
    #[must_use]
    pub fn settle_but(mut self, kept: &[PathBuf]) -> Trust {
        self.settle_now(kept)
    }

    fn settle_now(&mut self, kept: &[PathBuf]) -> Trust {
        if std::mem::replace(&mut self.is_settled, true) {
            return self.least();
        }
        let provenance = &self.workspace.provenance;
        let is_other = |run: &Run| !ptr::eq(run, &raw const *self.run);
        // What others are writing has no mark yet, and may have been read.
        self.run.least.lower(provenance.least_running(is_other));
        let least = self.least();
        if least < Trust::Full {
            let others = provenance.running();
            others.iter().filter(|run| is_other(run)).for_each(|run| run.least.lower(least));
            self.mark_changed(least, kept);
        }
        least
    }

    fn mark_changed(&self, trust: Trust, kept: &[PathBuf]) {
        let workspace = &self.workspace;
        let is_kept = |path: &Path| kept.iter().any(|kept| *kept == workspace.root().join(path));
        let marked = workspace.look_at_all(|directory, path, found| {
            if !self.run.can_have_changed(found) || is_kept(path) {
                return Ok(());
            }
            let is_marked = found.is_dir() || found.is_file();
            // What has no attributes goes by its directory.
            let entry = is_marked.then_some(path);
            workspace.provenance.lower(directory, entry, trust).map(drop)
        });
        if let Err(error) = marked {
            tracing::warn!(%error, "what a program has changed cannot be marked");
            workspace.provenance.fall_for_good();
        }
    }
}

impl Run {
    fn set_up(&self, workspace: &Workspace) -> io::Result<()> {
        // A directory is looked at before those in it.
        let mut trees = BTreeSet::new();
        let root = handle_of(workspace.handle());
        if is_in_tree(&root, Path::new("")) {
            trees.insert(PathBuf::new());
        }
        workspace.look_at_all(|directory, path, found| {
            if !found.is_file() && !found.is_dir() {
                return Ok(());
            }
            let is_in_tree = path.parent().is_some_and(|above| trees.contains(above));
            if found.is_dir() && (is_in_tree || is_tree(&root.join(path))) {
                trees.insert(path.to_owned());
            }
            let place = if is_in_tree { Trust::Low } else { of_place(path) };
            let trust = workspace.settled_trust(directory, path, place)?;
            if trust < Trust::Full && found.is_file() {
                let place = workspace.provenance.place_in(directory, path);
                self.add(&place, trust, WatchFlags::DONT_FOLLOW)?;
            }
            Ok(())
        })
    }

    fn add(&self, place: &Path, trust: Trust, how: WatchFlags) -> io::Result<()> {
        let Some(queue) = &self.queue else { return Err(io::Error::other("inotify has no room")) };
        let mut watched = self.watched();
        if watched.len() >= WATCHED {
            return Err(io::Error::other("there are too many foreign files to be watched"));
        }
        match add_watch(queue, place, WatchFlags::OPEN | how) {
            Ok(watch) => {
                // It has further names.
                let known = watched.entry(watch).or_insert(trust);
                *known = trust.min(*known);
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A file is being made that is foreign.
    pub(crate) fn watch_also(&self, file: &Path, trust: Trust) {
        if self.add(file, trust, WatchFlags::empty()).is_err() {
            self.least.lower(Trust::Low);
        }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<i32, Trust>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The least trust so far.
    pub(crate) fn least(&self) -> Trust {
        if self.reached.any() {
            self.least.lower(Trust::Low);
        }
        if let Some(queue) = &self.queue {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = Reader::new(queue, &mut buffer);
            loop {
                match events.next() {
                    Ok(event) => self.least.lower(self.opened(event.wd(), event.events())),
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(_) => {
                        self.least.lower(Trust::Low);
                        break;
                    }
                }
            }
        }
        self.least.get()
    }

    /// The trust of what an event says was opened.
    fn opened(&self, watch: i32, event: ReadFlags) -> Trust {
        match event {
            event if event.contains(ReadFlags::QUEUE_OVERFLOW) => Trust::Low,
            event if event.contains(ReadFlags::OPEN) => {
                self.watched().get(&watch).copied().unwrap_or(Trust::Low)
            }
            // It was removed.
            _ => Trust::Full,
        }
    }

    /// Whether the program can have written this.
    pub(crate) fn can_have_changed(&self, found: &Metadata) -> bool {
        (found.ctime(), found.ctime_nsec()) >= self.since
    }
}

impl Drop for Watch {
    /// What is let go of has written something, too.
    fn drop(&mut self) {
        self.settle_now(&[]);
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
