//! Copies of files that calls may change before a person is asked, so that the person can undo the
//! changes.
//!
//! ```text
//! begin_changes   before a call: copies what the call can change
//! end_changes     after it: notes what it has changed
//!   ... further calls of the turn
//! list_changes    for the question at the end of the turn
//! undo_changes | forget_copies
//! ```
//!
//! **Conversations.** The copies belong to a conversation, not to a turn. If a person stops a
//! turn before its question, the next answer of the conversation asks about its changes, too.
//!
//! **The index** (`kept_copies/index.rs`) has the state before of each path that may change, and the
//! state after of each that has. It is replaced as a whole, after the copies that it names. So a crash
//! leaves either index. `pending` in it names the places of a call that has begun. If the process dies
//! during the call, the places are compared at the next use, and their differences count as changes.
//!
//! **Others work in the same directories.** The state before is read again at the begin of each call,
//! and the differences are noted at its end, so changes by others between the calls are no changes of
//! the conversation. While a program runs, the paths that other conversations change with file tools are
//! noted and left out. What a program that needs no review, or a person, changes at the same moment counts
//! as changed by the first. The question shows it. A path that was changed again after the question stays
//! as it is when a person undoes the rest. A directory has unreviewed changes of one conversation at a
//! time (`kept_copies/claims.rs`); other conversations are asked before their calls. If the turn of the
//! first has ended without its review, a person can give up its copies ([`KeptCopies::release_copies`]).
//!
//! **Undo restores bytes**, permissions, time of change and marks of trust. It removes new entries
//! first, the deepest first, and makes the old ones afterwards.
//!
//! **What cannot be kept** is an error before the call, which then needs an approval: too many files,
//! too many bytes, or an entry that is neither a file, a directory nor a link.

mod claims;
mod index;
mod restore;
mod state;
mod window;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ignore_result;
use avocet_protocol::tool::UndoPlace;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::digest_bytes;
use crate::file_trust::INBOX;
use claims::DirectoryClaims;
use index::{KeptIndex, KeptPath};
use state::{PathState, list_below, read_small_text};
use window::{OpenWindows, PathsByOthers};

pub use window::ChangeWindow;

/// Directories of a workspace into which the daemon itself writes new files at any time: those that come
/// with messages, and long answers. New files there count as nobody's changes.
const DAEMON_WRITES: [&str; 2] = [INBOX, "answers"];
/// Entries that the copies of a conversation cover.
const MOST_ENTRIES: usize = 30_000;
/// Bytes that the copies of a conversation have.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// The reason why no copies can be kept, phrased to follow "I cannot undo it, because".
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// There are more entries than are kept.
    #[error("the directory has more than {MOST_ENTRIES} files")]
    TooMany,
    /// The files have more bytes than are kept.
    #[error("the files have more than {} MiB", MOST_BYTES / 1024 / 1024)]
    TooLarge,
    /// The entry cannot be copied.
    #[error("{} is neither a file, a directory nor a link with a name in UTF-8", .0.display())]
    Special(PathBuf),
    /// Unreviewed changes of another conversation are in the same directory.
    #[error("changes of another conversation in the same directory wait for their review")]
    Busy,
    /// The system refused.
    #[error("no copy could be kept: {0}")]
    Io(#[from] io::Error),
}

/// A path that a conversation has changed, with the texts for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The directory that the path is in.
    pub root: PathBuf,
    /// The path from there.
    pub path: PathBuf,
    /// The state before.
    pub before: ShownState,
    /// The present state.
    pub after: ShownState,
}

/// The state of a path, as far as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownState {
    /// Nothing is there.
    Absent,
    /// A directory.
    Directory,
    /// A link with this target.
    Link(String),
    /// A file with this text.
    Text(String),
    /// A file that is long, or not text: its bytes and the beginning of its SHA-256.
    Bytes(u64, String),
}

/// The outcome of undoing the changes of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoneChanges {
    /// The restored paths.
    pub restored: Vec<PathBuf>,
    /// The paths that stay as they are, because somebody else has changed them again.
    pub left: Vec<PathBuf>,
    /// The paths that could not be restored, each with the error.
    pub failed: Vec<(PathBuf, String)>,
}

/// A change of files by a file tool. While it is held, nothing compares files.
#[derive(Debug)]
pub struct FileChange<'c> {
    _shared: RwLockReadGuard<'c, ()>,
}

/// The copies of all conversations, in one directory.
#[derive(Debug)]
pub struct KeptCopies {
    directory: PathBuf,
    own: Vec<PathBuf>,
    claims: DirectoryClaims,
    windows: OpenWindows,
    /// Held exclusively while files are compared, so that no file tool changes one meanwhile.
    comparing: RwLock<()>,
}

impl KeptCopies {
    /// Opens the directory of the copies. It is made for the first copy. `own` are the daemon's files and
    /// directories, which no call can change. So nothing in them is copied.
    #[must_use]
    pub fn open(directory: PathBuf, own: Vec<PathBuf>) -> Self {
        let claims = DirectoryClaims::read(&directory);
        let windows = OpenWindows::default();
        let comparing = RwLock::default();
        Self { claims, directory, own, windows, comparing }
    }

    /// Returns `true` if a conversation has copies, and so perhaps changes.
    #[must_use]
    pub fn has_copies(&self, session: &SessionId) -> bool {
        self.claims.contains(&directory_name(session))
    }

    /// Keeps copies before a call. The caller holds the window, if there is one, until it has called
    /// [`Self::end_changes`]. This blocks.
    ///
    /// # Errors
    /// [`KeepError`]. The call must not change anything then.
    pub fn begin_changes(
        &self,
        session: &SessionId,
        places: &[UndoPlace],
    ) -> Result<Option<Arc<ChangeWindow>>, KeepError> {
        let name = directory_name(session);
        let _exclusive = self.comparing.blocking_write();
        self.claims.add_roots(&name, session, &roots_of(places))?;
        let is_program = places.iter().any(|place| !place.trees.is_empty());
        let window = is_program.then(|| self.windows.open_window(&name));
        let kept = self.keep_places(session, &self.directory.join(&name), places);
        if kept.is_err() && !self.has_changed(&self.directory.join(&name)) {
            self.forget_copies(session);
        }
        kept.map(|()| window)
    }

    /// Copies the files of these places, and notes them in the index.
    fn keep_places(
        &self,
        session: &SessionId,
        directory: &Path,
        places: &[UndoPlace],
    ) -> Result<(), KeepError> {
        index::create_private_directory(directory)?;
        let mut index = KeptIndex::read(directory)?;
        index.session = Some(session.clone());
        self.note_pending(session, &mut index)?;
        let mut pending = Vec::new();
        for place in places {
            pending.push(index.keep_place(directory, place, &self.own)?);
        }
        index.pending = pending;
        index.write(directory)?;
        Ok(())
    }

    /// Returns `true` if a call of a conversation has changed something, or may have.
    fn has_changed(&self, directory: &Path) -> bool {
        let index = KeptIndex::read(directory);
        index.map_or(true, |index| {
            !index.pending.is_empty() || index.paths.values().any(|kept| kept.after.is_some())
        })
    }

    /// Notes that a call of a file tool changes these absolute paths. They are no changes of a program
    /// that another conversation is running. The caller holds the result while it changes the files, and
    /// then calls [`Self::note_left_paths`].
    pub async fn note_paths(&self, session: &SessionId, paths: &[String]) -> FileChange<'_> {
        let change = FileChange { _shared: self.comparing.read().await };
        let under_way = paths.iter().map(|path| (path.into(), None)).collect();
        self.windows.note_paths(&directory_name(session), &under_way);
        change
    }

    /// Returns `true` while another conversation runs a program whose changes are noted.
    #[must_use]
    pub fn is_watching(&self, session: &SessionId) -> bool {
        self.windows.has_others(&directory_name(session))
    }

    /// Notes the states in which a file tool has left these absolute paths. This blocks.
    pub fn note_left_paths(&self, session: &SessionId, paths: &[String]) {
        let left = read_left_paths(paths.iter().map(PathBuf::from));
        self.windows.note_paths(&directory_name(session), &left);
    }

    /// Copies the files of a call once more, right before it changes them: others may have changed them
    /// since [`Self::begin_changes`]. The caller holds a [`FileChange`]. This blocks.
    ///
    /// # Errors
    /// [`KeepError`]. The call must not change anything then.
    pub fn renew_copies(&self, session: &SessionId) -> Result<(), KeepError> {
        let directory = self.directory.join(directory_name(session));
        let mut index = KeptIndex::read(&directory)?;
        if index.pending.iter().all(|place| place.paths.is_empty()) {
            return Ok(());
        }
        for place in index.pending.clone() {
            let root = open_root(&place.root)?;
            for path in place.paths {
                index.keep_path(&directory, &root, (place.root.clone(), path))?;
            }
        }
        Ok(index.write(&directory)?)
    }

    /// Notes the changes of the call that has begun last. This blocks.
    ///
    /// # Errors
    /// [`KeepError`]. The changes are noted at the next use then.
    pub fn end_changes(&self, session: &SessionId) -> Result<(), KeepError> {
        let _exclusive = self.comparing.blocking_write();
        let directory = self.directory.join(directory_name(session));
        let mut index = KeptIndex::read(&directory)?;
        if index.pending.is_empty() {
            return Ok(());
        }
        self.note_pending(session, &mut index)?;
        Ok(index.write(&directory)?)
    }

    /// Returns the paths that the conversation has changed, in order. This blocks.
    ///
    /// # Errors
    /// [`KeepError`] if a path or a copy cannot be read.
    pub fn list_changes(&self, session: &SessionId) -> Result<Vec<ChangedPath>, KeepError> {
        let _exclusive = self.comparing.blocking_write();
        let directory = self.directory.join(directory_name(session));
        let mut index = KeptIndex::read(&directory)?;
        self.note_pending(session, &mut index)?;
        let mut changes = Vec::new();
        for root in index.roots() {
            // Without the directory there is nothing to review.
            let Some(opened) = open_root_if_any(&root)? else { continue };
            for (path, kept) in index.paths_of_root_mut(&root) {
                if kept.after.is_none() {
                    continue;
                }
                let now = PathState::read(&opened, path, kept.after.as_ref())?;
                if now.is_same(&kept.before) {
                    kept.after = None;
                    continue;
                }
                let before = kept.before.show_state(|number| {
                    read_small_text(fs::File::open(index::copy_path(&directory, number))?)
                })?;
                let after = now.show_state(|_| read_small_text(opened.open(path)?.into_std()))?;
                kept.after = Some(now);
                changes.push(ChangedPath { root: root.clone(), path: path.clone(), before, after });
            }
        }
        index.write(&directory)?;
        Ok(changes)
    }

    /// Restores the paths that the conversation has changed, and forgets the copies unless a path could
    /// not be restored. This blocks.
    ///
    /// # Errors
    /// [`KeepError`] if the copies cannot be read; nothing is restored then.
    pub fn undo_changes(&self, session: &SessionId) -> Result<UndoneChanges, KeepError> {
        let _exclusive = self.comparing.blocking_write();
        let directory = self.directory.join(directory_name(session));
        let mut index = KeptIndex::read(&directory)?;
        self.note_pending(session, &mut index)?;
        let undone = restore::restore_changes(&directory, &index)?;
        let left = read_left_paths(undone.restored.iter().cloned());
        self.windows.note_paths(&directory_name(session), &left);
        if undone.failed.is_empty() {
            self.forget_copies(session);
        }
        Ok(undone)
    }

    /// Forgets the copies of a conversation: its changes stay. This blocks.
    pub fn forget_copies(&self, session: &SessionId) {
        if !self.has_copies(session) {
            return;
        }
        let name = directory_name(session);
        ignore_result(
            fs::remove_dir_all(self.directory.join(&name)),
            "the next answer of the conversation asks about the changes again",
        );
        self.claims.remove(&name);
    }

    /// Returns the conversations with copies, without those whose copies an earlier version of the
    /// program made.
    #[must_use]
    pub fn list_conversations(&self) -> Vec<SessionId> {
        self.claims.sessions()
    }

    /// Returns the other conversations whose unreviewed changes are at these places. `None` if one of
    /// them runs a program, or is not known by its id.
    #[must_use]
    pub fn find_holders(
        &self,
        session: &SessionId,
        places: &[UndoPlace],
    ) -> Option<Vec<SessionId>> {
        let holders = self.claims.find_others(&directory_name(session), &roots_of(places));
        let is_idle = |name: &str| !self.windows.has_own(name);
        holders.into_iter().map(|(name, claim)| claim.session.filter(|_| is_idle(&name))).collect()
    }

    /// Forgets the copies of a conversation whose turn has ended without a review, unless a program of it
    /// still runs. Its changes stay. This blocks.
    pub fn release_copies(&self, session: &SessionId) {
        let _exclusive = self.comparing.blocking_write();
        if !self.windows.has_own(&directory_name(session)) {
            self.forget_copies(session);
        }
    }

    /// Notes the changes at the places of the call that has begun last.
    fn note_pending(&self, session: &SessionId, index: &mut KeptIndex) -> Result<(), KeepError> {
        let by_others = self.windows.paths_by_others(&directory_name(session));
        for place in std::mem::take(&mut index.pending) {
            let Some(root) = open_root_if_any(&place.root)? else { continue };
            let mut paths: BTreeSet<PathBuf> = place.paths.iter().cloned().collect();
            for tree in &place.trees {
                let below = |path: &Path| path.starts_with(tree);
                let known =
                    index.paths.keys().filter(|(kept, path)| *kept == place.root && below(path));
                paths.extend(known.map(|(_, path)| path.clone()));
                let now = list_below(&root, &place.root, tree, &self.own)?;
                // A message may have come, or a long answer.
                let is_new =
                    |path: &PathBuf| !index.paths.contains_key(&(place.root.clone(), path.clone()));
                let is_of_daemon =
                    |path: &PathBuf| DAEMON_WRITES.iter().any(|one| path.starts_with(one));
                paths.extend(now.into_iter().filter(|path| !(is_of_daemon(path) && is_new(path))));
            }
            let is_of_others =
                |path: &PathBuf| is_left_by_others(&by_others, &root, &place.root, path);
            if !by_others.is_empty() {
                paths.retain(|path| !is_of_others(path));
            }
            for path in paths {
                let key = (place.root.clone(), path);
                let kept = index.paths.get(&key);
                let before = kept.map_or(&PathState::Absent, |kept| &kept.before);
                let last = kept.and_then(|kept| kept.after.as_ref()).unwrap_or(before);
                let now = PathState::read(&root, &key.1, Some(last))?;
                let after = (!now.is_same(before)).then_some(now);
                match index.paths.get_mut(&key) {
                    Some(kept) => kept.after = after,
                    None if after.is_some() => {
                        index.paths.insert(key, KeptPath { before: PathState::Absent, after });
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }
}

/// Reads the states of absolute paths.
fn read_left_paths(paths: impl Iterator<Item = PathBuf>) -> PathsByOthers {
    let state = |path: PathBuf| {
        let (parent, name) = (path.parent()?, path.file_name()?);
        let state = match open_root_if_any(parent).ok()? {
            Some(parent) => PathState::read(&parent, Path::new(name), None).ok()?,
            None => PathState::Absent,
        };
        Some((path, Some(state)))
    };
    paths.filter_map(state).collect()
}

/// Returns `true` if another conversation has left a path in its present state, or is changing it, or
/// has made the directory for one of its own paths.
fn is_left_by_others(by_others: &PathsByOthers, root: &Dir, at: &Path, path: &Path) -> bool {
    let whole = at.join(path);
    match by_others.get(&whole) {
        Some(None) => true,
        Some(Some(left)) => {
            PathState::read(root, path, Some(left)).is_ok_and(|now| now.is_same(left))
        }
        None => {
            let is_directory = || root.symlink_metadata(path).is_ok_and(|found| found.is_dir());
            by_others.keys().any(|one| one.starts_with(&whole)) && is_directory()
        }
    }
}

fn roots_of(places: &[UndoPlace]) -> BTreeSet<PathBuf> {
    places.iter().map(|place| place.root.clone()).collect()
}

fn open_root(root: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(root, ambient_authority())
}

/// Opens a directory; `None` if it is gone.
fn open_root_if_any(root: &Path) -> io::Result<Option<Dir>> {
    match open_root(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// The name of a conversation's directory: nothing in the file system is named by an id.
fn directory_name(session: &SessionId) -> String {
    digest_bytes(session.as_str().as_bytes())[..32].to_owned()
}

#[cfg(test)]
#[path = "kept_copies_tests.rs"]
mod tests;
