//! Stores the trust of a file in an extended attribute of the file. The attribute stays with the
//! file through renames, and programs in a sandbox cannot change it: the filter of system calls
//! refuses that.

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

/// The attribute with the trust, `low` or `user`. A file without it has the owners' full trust.
pub(crate) const MARK: &str = "user.avocet.trust";
/// An attribute that is set and removed to test whether attributes work.
const PROBE: &str = "user.avocet.probe";
/// The directory of files that came with messages. They are untrusted even without a mark.
pub(crate) const INBOX: &str = "inbox";

/// The state of a workspace as a whole, as far as trust is concerned.
#[derive(Debug)]
pub(crate) struct Provenance {
    /// `true` if its file system keeps attributes.
    marks: bool,
    /// `true` for a directory beside the workspace. Others write there by any means, so it is
    /// untrusted.
    is_foreign: bool,
    /// A file outside the workspace. It exists once something untrusted was written without a mark.
    note: Option<PathBuf>,
    /// The same fact, in memory.
    fallen: AtomicBool,
    /// The running programs.
    runs: Mutex<Vec<Weak<Run>>>,
}

/// The request for which a workspace is used, and the trust of the data that it has read.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskTrust {
    /// The trust of written files.
    trust: Trust,
    /// The least trust of the data read so far.
    read: LeastTrust,
    /// The least trust of the data that the requester gets to see.
    told: LeastTrust,
    /// `true` if read data counts as shown only after a call of `tell`.
    is_apart: bool,
}

impl Provenance {
    /// Creates the state of a workspace, or of a directory beside it. Tests whether the file system
    /// keeps attributes, but only if the directory may be written to.
    pub(crate) fn of(root: &Dir, beside: Option<Access>) -> Self {
        let marks = beside != Some(Access::Read) && probe(root).is_ok();
        Self { is_foreign: beside.is_some(), ..Self::new(marks, None) }
    }

    pub(crate) fn new(marks: bool, note: Option<PathBuf>) -> Self {
        let fallen = AtomicBool::new(note.as_ref().is_some_and(|note| note.exists()));
        Self { marks, is_foreign: false, note, fallen, runs: Mutex::default() }
    }

    /// Registers a running program until the last `Arc` of it is dropped.
    pub(crate) fn began(&self, run: &Arc<Run>) {
        let mut runs = self.runs();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(run));
    }

    /// Returns the least trust of those running programs that `counts` selects. Their changes are
    /// still unmarked.
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

    /// Returns the highest possible trust in the workspace. Without attributes files cannot be told
    /// apart: all of them are untrusted once something untrusted was written, or may have been.
    pub(crate) fn most(&self) -> Trust {
        let is_known = !self.is_foreign && (self.marks || self.note.is_some());
        match is_known && !self.fallen.load(Ordering::Acquire) {
            true => Trust::Full,
            false => Trust::Low,
        }
    }

    /// Returns the path of the permanent note about untrusted files without a mark.
    pub(crate) fn note(&self) -> Option<&Path> {
        self.note.as_deref()
    }

    /// Notes permanently that something untrusted is unmarked.
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

    /// Marks a file that is open for writing, before it gets its name.
    pub(crate) fn mark(&self, file: &File, trust: Trust) -> io::Result<()> {
        let Some(word) = word(trust) else { return Ok(()) };
        if !self.marks {
            return self.fall();
        }
        // The file is still empty and without its name, so watching starts in time.
        for run in self.running() {
            run.watch_also(&handle_of(file), trust);
        }
        match fsetxattr(file, MARK, word, XattrFlags::empty()) {
            // Another file system is mounted here; files without attributes are untrusted.
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Marks a directory, because its name is untrusted.
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

    /// Makes the file system update a directory's time.
    pub(crate) fn touch(&self, directory: &Dir) {
        if self.marks {
            probe(directory).unwrap_or_default();
        }
    }

    /// Returns the path of an entry of a directory, by its last name: a link itself, instead of its
    /// target.
    pub(crate) fn place_in(&self, directory: &Dir, path: &Path) -> PathBuf {
        place_of(directory).join(path.file_name().unwrap_or_default())
    }

    /// Lowers the trust of an entry of a directory, or without an entry that of the directory.
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
        // An unreadable mark may be missing, so it is written again.
        let read = lgetxattr(&place, MARK, &mut value[..]);
        let is_marked = read.is_ok() && self.of_mark(read, &value) <= trust;
        let Some(word) = word(trust).filter(|_| !is_marked) else { return Ok(()) };
        match changed(directory, name, || lsetxattr(&place, MARK, word, XattrFlags::empty())) {
            // The entry has gone since; or another file system is mounted here, which is untrusted.
            Ok(()) | Err(Errno::NOENT | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes that something untrusted is unmarked: permanently if possible, otherwise until the end
    /// of the process.
    pub(crate) fn fall_for_good(&self) {
        if let Err(error) = self.fall() {
            tracing::error!(
                %error,
                "cannot note that the files of the workspace are untrusted; they are untrusted \
                 until the daemon ends"
            );
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

    /// Returns the trust of an entry of a directory. Links cannot be marked, so callers take the
    /// directory's trust for the name of a link.
    pub(crate) fn of_entry(&self, directory: &Dir, name: &OsStr) -> Trust {
        let mut value = [0; 8];
        let place = place_of(directory).join(name);
        self.of_mark(lgetxattr(&place, MARK, &mut value[..]), &value)
    }
}

impl Workspace {
    /// Sets the permanent note that something untrusted in the workspace could not be marked: a
    /// file outside of the workspace, which is made in that case. Without a note, everything in a
    /// workspace is untrusted if its file system lacks extended attributes.
    #[must_use]
    pub fn remembering(mut self, note: PathBuf) -> Self {
        let is_foreign = self.provenance.is_foreign;
        let remembering = Provenance::new(self.marks(), Some(note));
        self.provenance = Provenance { is_foreign, ..remembering }.into();
        self
    }

    /// Returns `true` if the file system keeps the marks of files.
    #[must_use]
    pub fn marks(&self) -> bool {
        self.provenance.marks
    }

    /// Returns the same workspace for a request with this trust. Written files get at most that
    /// trust, and `told` receives the least trust of the read data.
    #[must_use]
    pub fn on_behalf(&self, trust: Trust, told: LeastTrust) -> Self {
        let mut same = self.clone();
        same.errand = TaskTrust { trust, told, ..TaskTrust::default() };
        same
    }

    /// Returns the same workspace for files that are examined without being shown. Data read
    /// through it counts as shown only after [`Self::tell`]. Files written through it have at most
    /// the trust of the data read through it.
    #[must_use]
    pub fn apart(&self) -> Self {
        let mut same = self.clone();
        same.errand.read = LeastTrust::default();
        same.errand.is_apart = true;
        same
    }

    /// Returns the least trust of the data read so far.
    #[must_use]
    pub fn least_read(&self) -> Trust {
        self.errand.read.get()
    }

    /// Reports the trust of data that was read through `apart` and is now shown.
    pub fn tell(&self, trust: Trust) {
        self.errand.read.lower(trust);
        self.errand.told.lower(trust);
    }

    /// Reports that a name is shown, with the names of the directories above it.
    pub fn tell_name(&self, path: &WorkspacePath) {
        self.errand.told.lower(self.trust_of_names(path.as_path()));
    }

    /// Reports that a path is shown. Only its existing part counts: the requester gave the rest.
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

    /// Returns the trust of data that is written now.
    pub(crate) fn trust_of_writing(&self) -> Trust {
        self.errand.trust.min(self.errand.read.get())
    }

    pub(crate) fn note_read(&self, trust: Trust) {
        self.errand.read.lower(trust);
        if !self.errand.is_apart {
            self.errand.told.lower(trust);
        }
    }

    /// Returns the trust of a file that is open for reading.
    pub(crate) fn trust_of(&self, path: &WorkspacePath, file: &File) -> Trust {
        let marked = self.provenance.of_file(file);
        let being_written = match file.metadata() {
            Ok(found) => self.provenance.least_running(|run| run.can_have_changed(&found)),
            Err(_) => Trust::Low,
        };
        marked.min(being_written).min(self.trust_of_place(path, file))
    }

    /// Returns the least trust of the names in a directory.
    pub(crate) fn trust_of_entries<'n>(
        &self,
        path: &WorkspacePath,
        directory: &Dir,
        names: impl Iterator<Item = (&'n str, bool)>,
    ) -> Trust {
        let names = names.map(|(name, can_be_marked)| {
            // Entries that cannot be marked have the trust of their directory.
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
                // The directory has gone since.
                Err(_) => Trust::Low,
            }
        });
        trusts.fold(self.trust_at(path), Trust::min)
    }

    /// Returns the trust by a path alone: low for files that came with a message, or are in a
    /// directory that a person has marked as untrusted.
    pub(crate) fn trust_at(&self, path: &Path) -> Trust {
        match self.marks() && is_in_tree(&handle_of(self.handle()), path) {
            true => Trust::Low,
            false => of_place(path),
        }
    }

    /// Returns the trust by the place of something open, and by the path under which it was opened.
    fn trust_of_place(&self, path: &WorkspacePath, opened: &impl AsFd) -> Trust {
        let place = self.place(opened).map_or(Trust::Full, |place| self.trust_at(&place));
        place.min(self.trust_at(path.as_path()))
    }

    /// Makes a directory and those above it, and marks the new ones.
    pub(crate) fn make_directories(&self, path: &Path, trust: Trust) -> io::Result<()> {
        let is_new = |place: &&Path| !place.as_os_str().is_empty() && !self.handle().exists(place);
        let new: Vec<&Path> = path.ancestors().take_while(is_new).collect();
        self.handle().create_dir_all(path)?;
        for place in new {
            self.provenance.mark_directory(&self.handle().open_dir(place)?, trust)?;
        }
        Ok(())
    }

    /// Returns the trust of an entry of a directory, by its mark and by its place. An entry that is
    /// untrusted by its place is marked, so that it stays untrusted wherever a program moves it.
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

/// Changes an attribute of an entry of a directory. That needs write permission, which files made
/// by git, for one, lack; the permission is added for a moment.
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

/// Returns the trust by a path from the root. The inbox directory itself is trusted.
pub(crate) fn of_place(path: &Path) -> Trust {
    match path.strip_prefix(INBOX) {
        Ok(below) if !below.as_os_str().is_empty() => Trust::Low,
        _ => Trust::Full,
    }
}

/// Returns a path that leads to something open: attributes are not always available through a
/// handle to a directory.
fn place_of(opened: &impl AsFd) -> PathBuf {
    handle_of(opened).join(".")
}

pub(crate) fn handle_of(opened: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()).into()
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
