//! Whose words a file's are. It stands in an extended attribute of the file, because that goes along with
//! renames, and because programs behind walls cannot change it: the filter of system calls refuses it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use avocet_protocol::{LeastTrust, Trust};
use cap_std::fs::{Dir, File, Permissions, PermissionsExt};
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, lgetxattr, lsetxattr, removexattr, setxattr};
use rustix::io::Errno;

use crate::tree::is_in_tree;
use crate::watch::Run;
use crate::{Access, Workspace, WorkspacePath};

/// The attribute: `low` or `user`. A file without it is the owners' own.
pub(crate) const MARK: &str = "user.avocet.trust";
/// What is set and removed to see whether there are attributes at all.
const PROBE: &str = "user.avocet.probe";
/// Where what came with messages is: foreign, marked or not.
pub(crate) const INBOX: &str = "inbox";

/// What is known of a workspace as a whole.
#[derive(Debug)]
pub(crate) struct Provenance {
    /// Whether its file system keeps attributes.
    marks: bool,
    /// Whether it is no workspace: others write there, by whatever means, and nothing is believed.
    is_foreign: bool,
    /// Outside the workspace: it exists once something was written that could not be marked.
    note: Option<PathBuf>,
    /// The same, in memory.
    fallen: AtomicBool,
    /// The programs that run.
    runs: Mutex<Vec<Weak<Run>>>,
}

/// On whose behalf a workspace is used, and what that has shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Errand {
    /// The trust of what is written.
    trust: Trust,
    /// The least trust of what was read.
    read: LeastTrust,
    /// The same of what is told to whoever asked.
    told: LeastTrust,
    /// Whether what is read is told only if somebody says so.
    is_apart: bool,
}

impl Provenance {
    /// That of a workspace, or of a directory beside it: looks whether its file system keeps attributes. What
    /// is only read is not written to, to find that out.
    pub(crate) fn of(root: &Dir, beside: Option<Access>) -> Self {
        let marks = beside != Some(Access::Read) && probe(root).is_ok();
        Self { is_foreign: beside.is_some(), ..Self::new(marks, None) }
    }

    pub(crate) fn new(marks: bool, note: Option<PathBuf>) -> Self {
        let fallen = AtomicBool::new(note.as_ref().is_some_and(|note| note.exists()));
        Self { marks, is_foreign: false, note, fallen, runs: Mutex::default() }
    }

    /// A program runs, until nobody has this any more.
    pub(crate) fn began(&self, run: &Arc<Run>) {
        let mut runs = self.runs();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(run));
    }

    /// The least trust that programs have whose changes are not marked yet.
    pub(crate) fn least_running(&self, counts: impl Fn(&Run) -> bool) -> Trust {
        let running = self.running();
        let least = running.iter().filter(|run| counts(run)).map(|run| run.least());
        least.fold(Trust::Full, Trust::min)
    }

    pub(crate) fn running(&self) -> Vec<Arc<Run>> {
        self.runs().iter().filter_map(Weak::upgrade).collect()
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trust that nothing in the workspace exceeds. Without attributes nothing can be told apart: all
    /// of it is foreign once something foreign was written, or may have been.
    pub(crate) fn most(&self) -> Trust {
        let is_known = !self.is_foreign && (self.marks || self.note.is_some());
        match is_known && !self.fallen.load(Ordering::Acquire) {
            true => Trust::Full,
            false => Trust::Low,
        }
    }

    /// Where that is noted, for good.
    pub(crate) fn note(&self) -> Option<&Path> {
        self.note.as_deref()
    }

    /// Remembers for good that something is foreign and has no mark.
    fn fall(&self) -> io::Result<()> {
        let Some(note) = &self.note else { return Ok(()) };
        if self.fallen.load(Ordering::Acquire) {
            return Ok(());
        }
        fs::create_dir_all(note.parent().unwrap_or(note))?;
        fs::File::create(note)?.sync_all()?;
        self.fallen.store(true, Ordering::Release);
        tracing::warn!(
            note = %note.display(),
            "a file of the workspace could not be marked as foreign: from now on all of them count as that"
        );
        Ok(())
    }

    /// Marks a file that is open to be written to, before it has its name.
    pub(crate) fn mark(&self, file: &File, trust: Trust) -> io::Result<()> {
        let Some(word) = word(trust) else { return Ok(()) };
        if !self.marks {
            return self.fall();
        }
        // Nothing is in it yet, and it does not have its name.
        for run in self.running() {
            run.watch_also(&handle_of(file), trust);
        }
        match fsetxattr(file, MARK, word, XattrFlags::empty()) {
            // Another file system is mounted here; what has no attributes is not believed.
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Marks a directory, whose name is foreign.
    pub(crate) fn mark_directory(&self, directory: &Dir, trust: Trust) -> io::Result<()> {
        let Some(word) = word(trust) else { return Ok(()) };
        if !self.marks {
            return self.fall();
        }
        match setxattr(place_of(directory), MARK, word, XattrFlags::empty()) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the file system give a directory its present time.
    pub(crate) fn touch(&self, directory: &Dir) {
        if self.marks {
            probe(directory).unwrap_or_default();
        }
    }

    /// Something in a directory, by its last name: a link itself, and not what it leads to.
    pub(crate) fn place_in(&self, directory: &Dir, path: &Path) -> PathBuf {
        place_of(directory).join(path.file_name().unwrap_or_default())
    }

    /// Lowers the trust of an entry of a directory, or without one that of the directory.
    pub(crate) fn lower(
        &self,
        directory: &Dir,
        entry: Option<&Path>,
        trust: Trust,
    ) -> io::Result<()> {
        if !self.marks {
            return self.fall();
        }
        let name = entry.and_then(Path::file_name).unwrap_or(OsStr::new("."));
        let place = place_of(directory).join(name);
        let mut value = [0; 8];
        // What cannot be read is not known to be marked.
        let read = lgetxattr(&place, MARK, &mut value[..]);
        let is_marked = read.is_ok() && self.of_mark(read, &value) <= trust;
        let Some(word) = word(trust).filter(|_| !is_marked) else { return Ok(()) };
        match changed(directory, name, || lsetxattr(&place, MARK, word, XattrFlags::empty())) {
            // It has gone since; or another file system is mounted here, of which nothing is believed.
            Ok(()) | Err(Errno::NOENT | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Remembers that something foreign has no mark; until the end of the process if not for good.
    pub(crate) fn fall_for_good(&self) {
        if let Err(error) = self.fall() {
            tracing::error!(%error, "that nothing of the workspace is to be believed cannot be noted");
        }
        self.fallen.store(true, Ordering::Release);
    }

    fn of_mark(&self, read: rustix::io::Result<usize>, value: &[u8]) -> Trust {
        let own = match read {
            Ok(length) if value.get(..length) == word(Trust::User) => Trust::User,
            Err(Errno::NODATA) => Trust::Full,
            Err(Errno::OPNOTSUPP) if !self.marks => Trust::Full,
            _ => Trust::Low,
        };
        own.min(self.most())
    }

    pub(crate) fn of_file(&self, file: &File) -> Trust {
        let mut value = [0; 8];
        self.of_mark(fgetxattr(file, MARK, &mut value[..]), &value)
    }

    /// That of an entry of a directory: a link has none of its own, and its name goes by the directory's.
    pub(crate) fn of_entry(&self, directory: &Dir, name: &OsStr) -> Trust {
        let mut value = [0; 8];
        let place = place_of(directory).join(name);
        self.of_mark(lgetxattr(&place, MARK, &mut value[..]), &value)
    }
}

impl Workspace {
    /// Where it is noted, for good, that something foreign is in the workspace and could not be marked: a
    /// file outside of it, which is made then. Without one, nothing of a workspace is believed whose file
    /// system has no extended attributes.
    #[must_use]
    pub fn remembering(mut self, note: PathBuf) -> Self {
        let is_foreign = self.provenance.is_foreign;
        let remembering = Provenance::new(self.marks(), Some(note));
        self.provenance = Provenance { is_foreign, ..remembering }.into();
        self
    }

    /// Whether its file system keeps the marks of files.
    #[must_use]
    pub fn marks(&self) -> bool {
        self.provenance.marks
    }

    /// The same workspace, as it is used for a request with this trust: what is written has it at most, and
    /// `told` is told the least trust of what is read.
    #[must_use]
    pub fn on_behalf(&self, trust: Trust, told: LeastTrust) -> Self {
        let mut same = self.clone();
        same.errand = Errand { trust, told, ..Errand::default() };
        same
    }

    /// The same, for files that are looked at without being shown: what is read through it is told only by
    /// [`Self::tell`]. What is written through it has the trust of what was read through it at most.
    #[must_use]
    pub fn apart(&self) -> Self {
        let mut same = self.clone();
        same.errand.read = LeastTrust::default();
        same.errand.is_apart = true;
        same
    }

    /// The least trust of what was read so far.
    #[must_use]
    pub fn least_read(&self) -> Trust {
        self.errand.read.get()
    }

    /// Tells what is shown of what was read apart.
    pub fn tell(&self, trust: Trust) {
        self.errand.read.lower(trust);
        self.errand.told.lower(trust);
    }

    /// Tells that a name is shown, with those of the directories above it.
    pub fn tell_name(&self, path: &WorkspacePath) {
        self.errand.told.lower(self.trust_of_names(path.as_path()));
    }

    /// The same of a path of which the end may not be there: that was given.
    pub(crate) fn tell_existing(&self, path: &Path) {
        let is_there = |place: &&Path| self.handle().symlink_metadata(place).is_ok();
        if let Some(place) = path.ancestors().find(is_there) {
            self.errand.told.lower(self.trust_of_names(place));
        }
    }

    pub(crate) fn tell_names(&self, paths: &[String]) {
        let trusts = paths.iter().map(|path| self.trust_of_names(Path::new(path)));
        trusts.for_each(|trust| self.errand.told.lower(trust));
    }

    /// Of what is written now.
    pub(crate) fn trust_of_writing(&self) -> Trust {
        self.errand.trust.min(self.errand.read.get())
    }

    pub(crate) fn note_read(&self, trust: Trust) {
        self.errand.read.lower(trust);
        if !self.errand.is_apart {
            self.errand.told.lower(trust);
        }
    }

    /// That of a file that is open to be read.
    pub(crate) fn trust_of(&self, path: &WorkspacePath, file: &File) -> Trust {
        let marked = self.provenance.of_file(file);
        let being_written = match file.metadata() {
            Ok(found) => self.provenance.least_running(|run| run.can_have_changed(&found)),
            Err(_) => Trust::Low,
        };
        marked.min(being_written).min(self.trust_of_place(path, file))
    }

    /// The least trust of the names in a directory.
    pub(crate) fn trust_of_entries<'n>(
        &self,
        path: &WorkspacePath,
        directory: &Dir,
        names: impl Iterator<Item = (&'n str, bool)>,
    ) -> Trust {
        let names = names.map(|(name, can_be_marked)| {
            // What cannot be marked goes by the directory that it is in.
            let name = if can_be_marked { name } else { "." };
            self.provenance.of_entry(directory, name.as_ref())
        });
        names.fold(self.trust_of_place(path, directory), Trust::min)
    }

    pub(crate) fn trust_of_names(&self, path: &Path) -> Trust {
        let names =
            path.ancestors().filter_map(|place| Some((place.parent()?, place.file_name()?)));
        let trusts = names.map(|(parent, name)| {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            match self.handle().open_dir(parent) {
                Ok(directory) => self.provenance.of_entry(&directory, name),
                // It has gone since.
                Err(_) => Trust::Low,
            }
        });
        trusts.fold(self.trust_at(path), Trust::min)
    }

    /// By a path alone: whether it came with a message, or is in a directory that a person has marked as untrusted.
    pub(crate) fn trust_at(&self, path: &Path) -> Trust {
        match self.marks() && is_in_tree(&handle_of(self.handle()), path) {
            true => Trust::Low,
            false => of_place(path),
        }
    }

    /// By where something open is, and by what it was opened as.
    fn trust_of_place(&self, path: &WorkspacePath, opened: &impl AsFd) -> Trust {
        let place = self.place(opened).map_or(Trust::Full, |place| self.trust_at(&place));
        place.min(self.trust_at(path.as_path()))
    }

    /// Makes the directories above a path, or a directory itself, and marks those that were not there.
    pub(crate) fn make_directories(&self, path: &Path, trust: Trust) -> io::Result<()> {
        let is_new = |place: &&Path| !place.as_os_str().is_empty() && !self.handle().exists(place);
        let new: Vec<&Path> = path.ancestors().take_while(is_new).collect();
        self.handle().create_dir_all(path)?;
        for place in new {
            self.provenance.mark_directory(&self.handle().open_dir(place)?, trust)?;
        }
        Ok(())
    }

    /// That of something in a directory, by its mark and by that of its place. What is untrusted by its place is marked,
    /// so that it stays so wherever a program moves it.
    pub(crate) fn settled_trust(
        &self,
        directory: &Dir,
        path: &Path,
        place: Trust,
    ) -> io::Result<Trust> {
        if place < Trust::Full && self.marks() {
            self.provenance.lower(directory, Some(path), place)?;
        }
        let name = path.file_name().unwrap_or_default();
        Ok(place.min(self.provenance.of_entry(directory, name)))
    }
}

/// Changes an attribute of an entry of a directory. Only what may be written to can be marked, and git, for one, makes
/// files that may not.
pub(crate) fn changed(
    directory: &Dir,
    name: &OsStr,
    change: impl Fn() -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    match change() {
        Err(Errno::ACCESS) => {
            let mode = directory.symlink_metadata(name).map_err(errno)?.permissions().mode();
            let set =
                |mode| directory.set_permissions(name, Permissions::from_mode(mode)).map_err(errno);
            set(mode | 0o200)?;
            let changed = change();
            set(mode)?;
            changed
        }
        changed => changed,
    }
}

fn probe(directory: &Dir) -> rustix::io::Result<()> {
    let place = place_of(directory);
    setxattr(&place, PROBE, b"1", XattrFlags::empty())?;
    removexattr(&place, PROBE)
}

fn word(trust: Trust) -> Option<&'static [u8]> {
    match trust {
        Trust::Low | Trust::User => Some(trust.word().as_bytes()),
        Trust::Full => None,
    }
}

/// By a path from the root. The directory itself is ours.
pub(crate) fn of_place(path: &Path) -> Trust {
    match path.strip_prefix(INBOX) {
        Ok(below) if !below.as_os_str().is_empty() => Trust::Low,
        _ => Trust::Full,
    }
}

/// Something open, by a path that leads nowhere else: a handle to a directory is not always one that
/// attributes can be asked of.
fn place_of(opened: &impl AsFd) -> PathBuf {
    handle_of(opened).join(".")
}

pub(crate) fn handle_of(opened: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()).into()
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
