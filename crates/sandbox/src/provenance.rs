//! Marks untrusted files by an extended attribute. The attribute stays with the file through
//! renames, and programs in a sandbox cannot change it: the filter of system calls refuses that.
//!
//! ```text
//! web page, message --> file tool writes --> file, user.avocet.trust = low
//!                                              | a program reads it (inotify)
//!                                              v
//! the program has low trust from now on --> files that it has changed: low
//!                                              | a file tool reads one
//!                                              v
//! the turn has low trust from now on: calls with effects need approval
//! ```
//!
//! **The rules of trust.** A file has the least trust of its mark, of its place (`inbox/`, a tree
//! that a person has marked), of running programs that may be writing it, and of the workspace as a
//! whole. A file without all of these is trusted: its owners write files by other means. Written
//! data has at most the trust of the task and of everything that the task has read. A mark is only
//! ever lowered by programs and tools; a person raises it with `avocet trust`.
//!
//! **File systems without attributes** cannot tell files apart. So the first untrusted write leaves
//! a note outside of the workspace, and from then on everything in the workspace is untrusted. The
//! note is permanent: what was written stays, and so must the doubt.
//!
//! **A directory beside the workspace** is always untrusted, because others write there.
//!
//! **Order.** A new file is marked before it gets its name. Otherwise a crash or a reader between
//! the two would see untrusted text as trusted.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use avocet_protocol::access::Trust;
use avocet_protocol::ignore_result;
use cap_std::fs::{Dir, File};
use parking_lot::Mutex;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, lgetxattr, lsetxattr, setxattr};
use rustix::io::Errno;

use crate::attributes::{
    MARK, handle_of, mark_value, place_of, probe_attributes, with_write_permission,
};
use crate::watch::ProgramRun;
use crate::{RootAccess, Workspace};

/// The state of a workspace as a whole, as far as trust is concerned.
#[derive(Debug)]
pub(crate) struct FileProvenance {
    /// `true` if its file system keeps attributes.
    marks: bool,
    /// `true` for a directory beside the workspace. Others write there by any means, so it is
    /// untrusted.
    is_beside: bool,
    /// A file outside the workspace. It exists once something untrusted was written without a mark.
    note: Option<PathBuf>,
    /// `true` once something untrusted was written without a mark, also if the note failed.
    has_unmarked: AtomicBool,
    /// The running programs.
    runs: Mutex<Vec<Weak<ProgramRun>>>,
}

impl FileProvenance {
    /// Creates the state of a workspace, or of a directory beside it. Tests whether the file system
    /// keeps attributes, but only if the directory may be written to.
    pub(crate) fn probe_root(root: &Dir, beside: Option<RootAccess>) -> Self {
        let marks = beside != Some(RootAccess::Read) && probe_attributes(root).is_ok();
        Self { is_beside: beside.is_some(), ..Self::new(marks, None) }
    }

    pub(crate) fn new(marks: bool, note: Option<PathBuf>) -> Self {
        let has_unmarked = AtomicBool::new(note.as_ref().is_some_and(|note| note.exists()));
        Self { marks, is_beside: false, note, has_unmarked, runs: Mutex::default() }
    }

    /// Registers a running program until the last `Arc` of it is dropped.
    pub(crate) fn register_run(&self, run: &Arc<ProgramRun>) {
        let mut runs = self.runs.lock();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(run));
    }

    /// Returns the least trust of those running programs that `counts` selects. Their changes are
    /// still unmarked.
    pub(crate) fn least_running(&self, counts: impl Fn(&ProgramRun) -> bool) -> Trust {
        let running = self.running_programs();
        let least = running.iter().filter(|run| counts(run)).map(|run| run.least_trust());
        least.fold(Trust::Full, Trust::min)
    }

    pub(crate) fn running_programs(&self) -> Vec<Arc<ProgramRun>> {
        self.runs.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the highest possible trust in the workspace. Without attributes files cannot be told
    /// apart: all of them are untrusted once something untrusted was written, or may have been.
    pub(crate) fn highest_trust(&self) -> Trust {
        let is_known = !self.is_beside && (self.marks || self.note.is_some());
        let is_trusted = is_known && !self.has_unmarked.load(Ordering::Acquire);
        if is_trusted { Trust::Full } else { Trust::Low }
    }

    /// Returns the path of the permanent note about untrusted files without a mark.
    pub(crate) fn unmarked_note(&self) -> Option<&Path> {
        self.note.as_deref()
    }

    /// Notes permanently that something untrusted is unmarked.
    fn note_unmarked(&self) -> io::Result<()> {
        let Some(note) = &self.note else { return Ok(()) };
        if self.has_unmarked.load(Ordering::Acquire) {
            return Ok(());
        }
        fs::create_dir_all(note.parent().unwrap_or(note))?;
        fs::File::create(note)?.sync_all()?;
        self.has_unmarked.store(true, Ordering::Release);
        tracing::warn!(
            note = %note.display(),
            "cannot mark a file of the workspace as untrusted: from now on all files of the \
                workspace count as untrusted"
        );
        Ok(())
    }

    /// Marks a file that is open for writing, before it gets its name.
    pub(crate) fn mark_file(&self, file: &File, trust: Trust) -> io::Result<()> {
        let Some(word) = mark_value(trust) else { return Ok(()) };
        if !self.marks {
            return self.note_unmarked();
        }
        // The file is still empty and without its name, so watching starts in time.
        for run in self.running_programs() {
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
        let Some(word) = mark_value(trust) else { return Ok(()) };
        if !self.marks {
            return self.note_unmarked();
        }
        match setxattr(place_of(directory), MARK, word, XattrFlags::empty()) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the file system update a directory's time.
    pub(crate) fn touch_directory(&self, directory: &Dir) {
        if self.marks {
            ignore_result(
                probe_attributes(directory),
                "the time stays then, and files written just before count as the program's",
            );
        }
    }

    /// Returns the path of an entry of a directory, by its last name: a link itself, instead of its
    /// target.
    pub(crate) fn place_in(&self, directory: &Dir, path: &Path) -> PathBuf {
        place_of(directory).join(path.file_name().unwrap_or_default())
    }

    /// Lowers the trust of an entry of a directory, or without an entry that of the directory.
    pub(crate) fn lower_trust(
        &self,
        directory: &Dir,
        entry: Option<&Path>,
        trust: Trust,
    ) -> io::Result<()> {
        if !self.marks {
            return self.note_unmarked();
        }
        let name = entry.and_then(Path::file_name).unwrap_or(OsStr::new("."));
        let place = place_of(directory).join(name);
        let mut value = [0; 8];
        // An unreadable mark may be missing, so it is written again.
        let read = lgetxattr(&place, MARK, &mut value[..]);
        let is_marked = read.is_ok() && self.trust_of_mark(read, &value) <= trust;
        let Some(word) = mark_value(trust).filter(|_| !is_marked) else { return Ok(()) };
        match with_write_permission(directory, name, || {
            lsetxattr(&place, MARK, word, XattrFlags::empty())
        }) {
            // The entry has gone since; or another file system is mounted here, which is untrusted.
            Ok(()) | Err(Errno::NOENT | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes that something untrusted is unmarked: permanently if possible, otherwise until the end
    /// of the process.
    pub(crate) fn distrust_all(&self) {
        if let Err(error) = self.note_unmarked() {
            tracing::error!(
                %error,
                "cannot note that the files of the workspace are untrusted; they are untrusted \
                 until the daemon ends"
            );
        }
        self.has_unmarked.store(true, Ordering::Release);
    }

    fn trust_of_mark(&self, read: rustix::io::Result<usize>, value: &[u8]) -> Trust {
        let own = match read {
            Ok(length) if value.get(..length) == mark_value(Trust::User) => Trust::User,
            Err(Errno::NODATA) => Trust::Full,
            Err(Errno::OPNOTSUPP) if !self.marks => Trust::Full,
            _ => Trust::Low,
        };
        own.min(self.highest_trust())
    }

    pub(crate) fn trust_of_file(&self, file: &File) -> Trust {
        let mut value = [0; 8];
        self.trust_of_mark(fgetxattr(file, MARK, &mut value[..]), &value)
    }

    /// Returns the trust of an entry of a directory. Links cannot be marked, so callers take the
    /// directory's trust for the name of a link.
    pub(crate) fn trust_of_entry(&self, directory: &Dir, name: &OsStr) -> Trust {
        let mut value = [0; 8];
        let place = place_of(directory).join(name);
        self.trust_of_mark(lgetxattr(&place, MARK, &mut value[..]), &value)
    }
}

impl Workspace {
    /// Sets the path of the permanent note, a file outside of the workspace. It is created if
    /// untrusted content of the workspace could not be marked. Without a note, everything in a
    /// workspace is untrusted if its file system lacks extended attributes.
    #[must_use]
    pub fn with_unmarked_note(mut self, note: PathBuf) -> Self {
        let is_beside = self.provenance.is_beside;
        let remembering = FileProvenance::new(self.keeps_marks(), Some(note));
        self.provenance = FileProvenance { is_beside, ..remembering }.into();
        self
    }

    /// Returns `true` if the file system keeps the marks of files.
    #[must_use]
    pub fn keeps_marks(&self) -> bool {
        self.provenance.marks
    }
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
