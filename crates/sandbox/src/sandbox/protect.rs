//! Finds the protected paths, which are read-only in a sandbox with namespaces.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::plan::{ProgramRights, SandboxRoot};
use crate::git::{MOST_CONFIG, parse_config, paths_git_follows};
use crate::protection::{PathProtection, ProtectedKind, is_git_dir};
use crate::untrusted_tree::is_untrusted;

/// Depth to which included configuration files are followed.
const DEEPEST: usize = 5;
/// Entries of a protected directory that are searched.
const LOOK_AT: usize = 1000;

/// The read-only paths of a sandbox.
#[derive(Debug, Default)]
pub(super) struct ReadOnly {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Directories above those paths. They keep their names; otherwise another directory could take
    /// their place.
    pub(super) pinned: BTreeSet<PathBuf>,
    /// Device and inode of each file with more than one name.
    pub(super) linked: BTreeSet<(u64, u64)>,
}

/// A search for protected paths.
pub(super) struct ProtectedSearch<'p> {
    pub(super) protection: &'p PathProtection,
    pub(super) rights: &'p ProgramRights,
    /// The path of the sandbox's root directory, as this stage sees it.
    pub(super) new: &'p Path,
    /// The roots that programs may change.
    pub(super) roots: Vec<&'p Path>,
    pub(super) found: ReadOnly,
}

impl ProtectedSearch<'_> {
    /// Searches the entries of a directory of a root.
    pub(super) fn look_at_directory(
        &mut self,
        root: &SandboxRoot,
        directory: &Path,
        entries: &[(OsString, FileType)],
    ) {
        let named = entries.iter().map(|(name, kind)| (name.as_os_str(), kind.is_dir()));
        let found = self.protection.protected_entries(directory, named);
        if found.is_empty() {
            return;
        }
        let (place, mut is_trusted_repository) = (self.place_in_sandbox(&root.path), false);
        for (at, kind) in found {
            let below = directory.join(&entries[at].0);
            // An untrusted file may be any program's already, so it stays writable.
            if is_untrusted(&place, &below) {
                continue;
            }
            is_trusted_repository |= kind == ProtectedKind::Config;
            let path = root.path.join(&below);
            if kind == ProtectedKind::Config {
                self.follow_config(&path, &root.path.join(directory), 0);
            }
            if !self.rights.may_change(&path, kind) {
                self.add_path(&path);
            }
        }
        let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
        let is_complete = has("objects") && has("refs");
        let names = entries.iter().map(|(name, _)| name.as_os_str());
        if is_trusted_repository && is_complete && !has("hooks") && is_git_dir(directory, names) {
            // A program could make the missing directory.
            let hooks = root.path.join(directory).join("hooks");
            if fs::create_dir(self.place_in_sandbox(&hooks)).is_ok() {
                self.add_path(&hooks);
            }
        }
    }

    /// Adds the paths to which a configuration leads git, if programs may change them.
    fn follow_config(&mut self, config: &Path, git_dir: &Path, depth: usize) {
        let place = self.place_in_sandbox(config);
        let is_short = fs::metadata(&place).is_ok_and(|found| found.len() <= MOST_CONFIG);
        let text = fs::read_to_string(&place).ok().filter(|_| is_short);
        let Some(entries) = text.and_then(|text| parse_config(&text)) else { return };
        for lead in paths_git_follows(&entries, config, git_dir) {
            if !self.place_in_sandbox(&lead).exists() {
                continue;
            }
            self.add_path(&lead);
            if depth < DEEPEST && self.place_in_sandbox(&lead).is_file() {
                self.follow_config(&lead, git_dir, depth + 1);
            }
        }
    }

    /// Adds a path, and its target through links.
    fn add_path(&mut self, path: &Path) {
        let Some(root) = self.roots.iter().find(|root| path.starts_with(root) && path != **root)
        else {
            return;
        };
        let above = path.ancestors().skip(1).take_while(|above| above != root);
        let above: Vec<PathBuf> = above.map(Path::to_owned).collect();
        let place = self.place_in_sandbox(path);
        let Ok(found) = fs::symlink_metadata(&place) else { return };
        if !found.is_symlink() {
            self.note_links(&place, &found);
            self.found.paths.insert(path.to_owned());
            self.found.pinned.extend(above);
        } else if let Ok(target) = fs::read_link(&place) {
            // The link itself can be replaced; the comparison after the program's end finds that.
            let target = crate::git::without_dots(&path.parent().unwrap_or(path).join(target));
            let is_link = fs::symlink_metadata(self.place_in_sandbox(&target))
                .is_ok_and(|found| found.is_symlink());
            if !is_link {
                self.add_path(&target);
            }
        }
    }

    /// Remembers files with more than one name: they could be written to by another one.
    fn note_links(&mut self, place: &Path, found: &fs::Metadata) {
        let mut open = vec![(place.to_owned(), found.clone())];
        let mut looked_at = 0;
        while let Some((place, found)) = open.pop() {
            if found.is_file() && found.nlink() > 1 {
                self.found.linked.insert((found.dev(), found.ino()));
            }
            for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                looked_at += 1;
                if looked_at <= LOOK_AT
                    && let Ok(found) = entry.metadata()
                {
                    open.push((entry.path(), found));
                }
            }
        }
    }

    fn place_in_sandbox(&self, path: &Path) -> PathBuf {
        self.new.join(path.strip_prefix("/").unwrap_or(path))
    }
}
