//! Watches the files that programs read and write in a workspace, to know their trust. A program
//! that has opened an untrusted file may have copied from it into every file that the program has
//! changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use avocet_protocol::access::{LeastTrust, Trust};
use cap_std::fs::{Dir, Metadata, MetadataExt};
use parking_lot::Mutex;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::attributes::handle_of;
use crate::file_trust::of_place;
use crate::shown_texts::ShownTexts;
use crate::untrusted_tree::{is_in_tree, is_tree};
use crate::{ReachedHosts, Workspace};

/// Entries of a workspace that are searched, which takes about half a second. In a larger
/// workspace, the program counts as untrusted.
const LOOK_AT: usize = 200_000;
/// Maximum number of untrusted files that are watched.
const WATCHED: usize = 4096;

/// Attempts to see a new time of the file system; most clocks tick within fewer.
const TOUCHES: usize = 5000;

/// Watches a program in a workspace. Make it before the program starts. Settle or drop it when all
/// processes of the program are gone.
#[derive(Debug)]
pub struct WatchedProgram {
    workspace: Workspace,
    run: Arc<ProgramRun>,
    is_settled: bool,
}

/// The state of a running program.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    /// The earliest time of files that the program can have written.
    since: Time,
    /// Reports opened files; `None` if inotify is unavailable.
    queue: Option<OwnedFd>,
    /// The trust of each watched file, by its watch descriptor.
    watched: Mutex<BTreeMap<i32, Trust>>,
    /// The texts of untrusted entries that the output may show.
    shown_texts: Mutex<ShownTexts>,
    /// The least trust of the request, and of the files opened so far.
    least: LeastTrust,
    /// The hosts that the program has reached; data from there is untrusted.
    reached: ReachedHosts,
}

/// A time of the file system, in seconds and nanoseconds.
type Time = (i64, i64);

impl Workspace {
    /// Watches the files that a program opens on behalf of a request. Call this before the program
    /// starts.
    #[must_use]
    pub fn watch_program(&self) -> WatchedProgram {
        let least = LeastTrust::default();
        least.lower_to(self.trust_of_writing().min(self.provenance.highest_trust()));
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let since = self.later_than(self.file_system_time());
        let run = Arc::new(ProgramRun {
            since,
            queue,
            watched: Mutex::default(),
            shown_texts: Mutex::default(),
            least,
            reached: ReachedHosts::default(),
        });
        // Files that are marked meanwhile are watched, too.
        self.provenance.register_run(&run);
        if run.least.get() > Trust::Low
            && let Err(error) = run.set_up(self)
        {
            tracing::warn!(%error, "cannot watch the files of a program; its output is untrusted");
            run.least.lower_to(Trust::Low);
        }
        WatchedProgram { workspace: self.clone(), run, is_settled: false }
    }

    /// Returns the file system's time once it is later than `before`, so that earlier files can be
    /// told from those written from now on. The clock ticks a few hundred times a second. With a
    /// slower clock, files written just before count as the program's.
    fn later_than(&self, before: Time) -> Time {
        (0..TOUCHES).map(|_| self.file_system_time()).find(|now| *now > before).unwrap_or(before)
    }

    /// Returns the file system's time; the earliest possible one if it is unknown.
    fn file_system_time(&self) -> Time {
        self.provenance.touch_directory(self.handle());
        let root = self.handle().dir_metadata();
        root.map_or((0, 0), |root| (root.ctime(), root.ctime_nsec()))
    }

    /// Calls `look` for everything in the workspace, whatever its name. Links are not followed.
    fn look_at_all(
        &self,
        look: impl FnMut(&Dir, &Path, &Metadata) -> io::Result<()>,
    ) -> io::Result<()> {
        self.look_at_all_below(PathBuf::new(), look)
    }

    /// Like `look_at_all`, below one directory.
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
                // The directory is another user's, and so closed to the program, too.
                Err(error) if error.kind() == ErrorKind::PermissionDenied && !is_own => continue,
                // The directory has gone since.
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(error),
            };
            for entry in directory.entries()?.flatten() {
                seen += 1;
                if seen > LOOK_AT {
                    return Err(io::Error::other("the workspace is too large to be searched"));
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

impl WatchedProgram {
    /// Returns the least trust of the request, of the untrusted files opened so far, and of the
    /// reached hosts.
    #[must_use]
    pub fn least_trust(&self) -> Trust {
        self.run.least_trust()
    }

    /// Lowers the trust if the output of the program shows a name, a target or an attribute of an
    /// untrusted entry that could be read as instructions. Call this before [`Self::settle_trust`].
    pub fn note_output(&self, output: impl FnOnce() -> String) {
        let texts = self.run.shown_texts.lock();
        if !texts.is_empty() && texts.are_in(&output()) {
            self.run.least.lower_to(Trust::Low);
        }
    }

    /// Returns the collector for the hosts that the program reaches. With the first one, the
    /// program becomes untrusted.
    #[must_use]
    pub fn reached_hosts(&self) -> ReachedHosts {
        self.run.reached.clone()
    }

    /// Marks the files that the program can have changed with the least trust of the data that it
    /// can have read. Returns the trust of its output.
    #[must_use]
    pub fn settle_trust(self) -> Trust {
        self.settle_but(&[])
    }

    /// Like [`Self::settle_trust`], but leaves the files in `kept` unmarked, because they hold
    /// nothing that git would run.
    #[must_use]
    pub fn settle_but(mut self, kept: &[PathBuf]) -> Trust {
        self.settle_now(kept)
    }

    fn settle_now(&mut self, kept: &[PathBuf]) -> Trust {
        if std::mem::replace(&mut self.is_settled, true) {
            return self.least_trust();
        }
        let provenance = &self.workspace.provenance;
        let is_other = |run: &ProgramRun| !ptr::eq(run, &raw const *self.run);
        // Files that other programs are writing are still unmarked, and may have been read.
        self.run.least.lower_to(provenance.least_running(is_other));
        let least = self.least_trust();
        if least < Trust::Full {
            let others = provenance.running_programs();
            others.iter().filter(|run| is_other(run)).for_each(|run| run.least.lower_to(least));
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
            // Entries without attributes have the trust of their directory.
            let entry = is_marked.then_some(path);
            workspace.provenance.lower_trust(directory, entry, trust).map(drop)
        });
        if let Err(error) = marked {
            tracing::warn!(%error, "cannot mark the changes of a program as untrusted");
            workspace.provenance.distrust_all();
        }
    }
}

impl ProgramRun {
    fn set_up(&self, workspace: &Workspace) -> io::Result<()> {
        // A directory comes before its entries.
        let mut trees = BTreeSet::new();
        let root = handle_of(workspace.handle());
        if is_in_tree(&root, Path::new("")) {
            trees.insert(PathBuf::new());
        }
        workspace.look_at_all(|directory, path, found| {
            let is_in_tree = path.parent().is_some_and(|above| trees.contains(above));
            if !found.is_file() && !found.is_dir() {
                // Entries that cannot be marked have the trust of their directory.
                let place = if is_in_tree { Trust::Low } else { of_place(path) };
                let trust = workspace.provenance.trust_of_entry(directory, ".".as_ref());
                if place.min(trust) < Trust::Full {
                    self.shown_texts.lock().add_entry(directory, path, found);
                }
                return Ok(());
            }
            if found.is_dir() && (is_in_tree || is_tree(&root.join(path))) {
                trees.insert(path.to_owned());
            }
            let place = if is_in_tree { Trust::Low } else { of_place(path) };
            let trust = workspace.settled_trust(directory, path, place)?;
            if trust < Trust::Full {
                self.shown_texts.lock().add_entry(directory, path, found);
            }
            if trust < Trust::Full && found.is_file() {
                let place = workspace.provenance.place_in(directory, path);
                self.add_watch_at(&place, trust, WatchFlags::DONT_FOLLOW)?;
            }
            Ok(())
        })
    }

    fn add_watch_at(&self, place: &Path, trust: Trust, how: WatchFlags) -> io::Result<()> {
        let Some(queue) = &self.queue else {
            return Err(io::Error::other("cannot create an inotify instance"));
        };
        let mut watched = self.watched.lock();
        if watched.len() >= WATCHED {
            return Err(io::Error::other("there are too many untrusted files to be watched"));
        }
        match add_watch(queue, place, WatchFlags::OPEN | how) {
            Ok(watch) => {
                // The file has several names.
                let known = watched.entry(watch).or_insert(trust);
                *known = trust.min(*known);
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Watches an untrusted file that is just being made.
    pub(crate) fn watch_also(&self, file: &Path, trust: Trust) {
        if self.add_watch_at(file, trust, WatchFlags::empty()).is_err() {
            self.least.lower_to(Trust::Low);
        }
    }

    pub(crate) fn least_trust(&self) -> Trust {
        if self.reached.is_any_reached() {
            self.least.lower_to(Trust::Low);
        }
        if let Some(queue) = &self.queue {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = Reader::new(queue, &mut buffer);
            loop {
                match events.next() {
                    Ok(event) => {
                        self.least.lower_to(self.trust_of_event(event.wd(), event.events()));
                    }
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(_) => {
                        self.least.lower_to(Trust::Low);
                        break;
                    }
                }
            }
        }
        self.least.get()
    }

    /// Returns the trust of the file that was opened according to an event.
    fn trust_of_event(&self, watch: i32, event: ReadFlags) -> Trust {
        match event {
            event if event.contains(ReadFlags::QUEUE_OVERFLOW) => Trust::Low,
            event if event.contains(ReadFlags::OPEN) => {
                self.watched.lock().get(&watch).copied().unwrap_or(Trust::Low)
            }
            // The file was removed.
            _ => Trust::Full,
        }
    }

    /// Returns `true` if the program can have written this file.
    pub(crate) fn can_have_changed(&self, found: &Metadata) -> bool {
        (found.ctime(), found.ctime_nsec()) >= self.since
    }
}

impl Drop for WatchedProgram {
    /// Settles an abandoned program, too, because it may have written files.
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
