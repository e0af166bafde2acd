//! The index of the copies of one conversation, a file of JSON beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use avocet_protocol::chat::SessionId;
use avocet_protocol::tool::UndoPlace;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::state::{PathState, copy_file, list_below};
use super::{KeepError, MOST_BYTES, MOST_ENTRIES, open_root};

const FILE: &str = "index.json";

/// The states of the paths of a conversation.
#[derive(Debug, Default)]
pub(super) struct KeptIndex {
    /// The conversation; `None` in an index of an earlier version of the program.
    pub(super) session: Option<SessionId>,
    /// The places of a call that has begun.
    pub(super) pending: Vec<PendingPlace>,
    /// The paths, by their root.
    pub(super) paths: BTreeMap<(PathBuf, PathBuf), KeptPath>,
    /// The number of the next copy.
    next_copy: u64,
    /// The bytes of all copies.
    copied_bytes: u64,
    /// `true` if copies were made that the index on the disk does not name.
    has_new_copies: bool,
}

/// The states of one path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptPath {
    pub(super) before: PathState,
    /// `None` if the conversation has not changed the path.
    pub(super) after: Option<PathState>,
}

/// A place of a call, with the missing directories above its paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PendingPlace {
    pub(super) root: PathBuf,
    pub(super) paths: Vec<PathBuf>,
    pub(super) trees: Vec<PathBuf>,
}

/// The form in the file, whose keys must be texts.
#[derive(Serialize, Deserialize)]
struct StoredIndex {
    #[serde(default)]
    session: Option<SessionId>,
    pending: Vec<PendingPlace>,
    paths: Vec<(PathBuf, PathBuf, KeptPath)>,
    next_copy: u64,
    copied_bytes: u64,
}

impl KeptIndex {
    /// Reads the index of a conversation. It is empty if there is none.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let text = match fs::read(directory.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let StoredIndex { session, pending, paths, next_copy, copied_bytes } =
            serde_json::from_slice(&text)?;
        let paths = paths.into_iter().map(|(root, path, kept)| ((root, path), kept)).collect();
        Ok(Self { session, pending, paths, next_copy, copied_bytes, has_new_copies: false })
    }

    /// Returns the directories that the paths are in.
    pub(super) fn roots(&self) -> BTreeSet<PathBuf> {
        let pending = self.pending.iter().map(|place| place.root.clone());
        self.paths.keys().map(|(root, _)| root.clone()).chain(pending).collect()
    }

    /// Returns the paths in a directory, in order.
    pub(super) fn paths_of_root<'i>(
        &'i self,
        root: &'i Path,
    ) -> impl Iterator<Item = (&'i PathBuf, &'i KeptPath)> {
        let of_root = self.paths.iter().filter(move |((kept_root, _), _)| kept_root == root);
        of_root.map(|((_, path), kept)| (path, kept))
    }

    /// Like [`Self::paths_of_root`].
    pub(super) fn paths_of_root_mut<'i>(
        &'i mut self,
        root: &'i Path,
    ) -> impl Iterator<Item = (&'i PathBuf, &'i mut KeptPath)> {
        let of_root = self.paths.iter_mut().filter(move |((kept_root, _), _)| kept_root == root);
        of_root.map(|((_, path), kept)| (path, kept))
    }

    /// Replaces the index on the disk, after the copies that it names.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let paths = self.paths.iter();
        let stored = StoredIndex {
            session: self.session.clone(),
            pending: self.pending.clone(),
            paths: paths
                .map(|((root, path), kept)| (root.clone(), path.clone(), kept.clone()))
                .collect(),
            next_copy: self.next_copy,
            copied_bytes: self.copied_bytes,
        };
        let written = directory.join("index.new");
        let mut file = create_private_file(&written)?;
        file.write_all(&serde_json::to_vec(&stored)?)?;
        if self.has_new_copies {
            // The whole file system: the copies are many small files.
            rustix::fs::syncfs(&file)?;
        }
        fs::rename(&written, directory.join(FILE))?;
        File::open(directory)?.sync_all()
    }

    /// Records the states of a place that a call is about to change, and copies its files.
    pub(super) fn keep_place(
        &mut self,
        directory: &Path,
        place: &UndoPlace,
        own: &[PathBuf],
    ) -> Result<PendingPlace, KeepError> {
        let root = open_root(&place.root)?;
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in &place.paths {
            let is_missing = |above: &&Path| {
                !above.as_os_str().is_empty() && root.symlink_metadata(above).is_err()
            };
            let missing = path.ancestors().skip(1).take_while(is_missing);
            paths.extend(missing.map(Path::to_owned).chain([path.clone()]));
        }
        let mut all = paths.clone();
        for tree in &place.trees {
            let below = list_below(&root, &place.root, tree, own)?;
            // An entry that others have removed since the last call is none of the changes.
            self.paths.retain(|(kept_root, path), kept| {
                kept.after.is_some()
                    || *kept_root != place.root
                    || !path.starts_with(tree)
                    || below.contains(path)
            });
            all.extend(below);
        }
        for path in all {
            self.keep_path(directory, &root, (place.root.clone(), path))?;
        }
        let (root, trees) = (place.root.clone(), place.trees.clone());
        Ok(PendingPlace { root, paths, trees })
    }

    /// Records the present state of a path, unless the conversation has changed it before.
    pub(super) fn keep_path(
        &mut self,
        directory: &Path,
        root: &Dir,
        key: (PathBuf, PathBuf),
    ) -> Result<(), KeepError> {
        let known = self.paths.get(&key);
        if known.is_some_and(|kept| kept.after.is_some()) {
            return Ok(());
        }
        let mut before = PathState::read(root, &key.1, known.map(|kept| &kept.before))?;
        if let PathState::File { bytes, copy: copy @ None, digest, .. } = &mut before {
            self.copied_bytes += *bytes;
            if self.copied_bytes > MOST_BYTES {
                return Err(KeepError::TooLarge);
            }
            let number = self.next_copy;
            self.next_copy += 1;
            self.has_new_copies = true;
            let target = create_private_file(&copy_path(directory, number))?;
            *digest = copy_file(root, &key.1, target)?;
            *copy = Some(number);
        }
        self.paths.insert(key, KeptPath { before, after: None });
        if self.paths.len() > MOST_ENTRIES {
            return Err(KeepError::TooMany);
        }
        Ok(())
    }
}

/// The path of a copy.
pub(super) fn copy_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(number.to_string())
}

/// Makes a directory that only the daemon's user can read, with those above it.
pub(super) fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)
}
