//! The protected paths of a workspace, for file tools, which ask an owner before they change one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::git::{parse_config, paths_git_follows};
use crate::protection::{PathProtection, is_git_dir, plain_name};
use crate::{EntryKind, FileError, Workspace, WorkspacePath};

/// Names by which the git directory of a repository is recognised.
const PARTS: [&str; 4] = ["objects", "refs", "HEAD", "commondir"];
/// Names in a git directory that git runs, or that lead git elsewhere.
const IN_GIT_DIR: [&str; 4] = ["commondir", "config", "config.worktree", "hooks"];

impl Workspace {
    /// Returns the workspace with these protected paths.
    #[must_use]
    pub fn with_protection(mut self, protection: Arc<PathProtection>) -> Self {
        self.protection = protection;
        self
    }

    /// Returns the same workspace, in which files with instructions are protected, too.
    #[must_use]
    pub fn with_protected_instructions(&self) -> Self {
        let protection = Arc::new(self.protection.with_instruction_files());
        self.clone().with_protection(protection)
    }

    /// Returns `true` if a change of this path would change content that is run later, outside of
    /// the sandbox.
    #[must_use]
    pub fn is_protected(&self, path: &WorkspacePath) -> bool {
        self.is_protected_place(path.as_path())
    }

    /// Returns the first protected path in a directory, or below it. Links are not followed.
    ///
    /// # Errors
    /// [`FileError`] for a directory that cannot be read.
    pub fn protected_below(
        &self,
        path: &WorkspacePath,
    ) -> Result<Option<WorkspacePath>, FileError> {
        let (apart, mut open) = (self.examine_apart(), vec![path.clone()]);
        while let Some(directory) = open.pop() {
            for entry in apart.list_entries(&directory)? {
                let below = directory.join_name(&entry.name);
                if self.is_protected(&below) {
                    return Ok(Some(below));
                }
                if entry.kind == EntryKind::Directory {
                    open.push(below);
                }
            }
        }
        Ok(None)
    }

    /// Fails if a path leads to a protected one through links: a person is asked about the given
    /// path only.
    pub(crate) fn admit_protected(
        &self,
        path: &WorkspacePath,
        place: &Path,
    ) -> Result<(), FileError> {
        let is_named = path.as_path() == place || self.protection.has_name(path.as_path());
        if !is_named && self.is_protected_place(place) {
            let place = self.shown_path(place.display().to_string());
            return Err(FileError::Protected { path: path.as_given(), place });
        }
        Ok(())
    }

    /// Notes a change of a protected path that an owner has permitted.
    pub(crate) fn approve_change(&self, path: &WorkspacePath) {
        if self.is_protected(path) {
            self.protection.approve_change(&self.root().join(path.as_path()));
        }
    }

    fn is_protected_place(&self, place: &Path) -> bool {
        if self.protection.is_none() {
            return false;
        }
        self.protection.has_name(place)
            || place.ancestors().skip(1).any(|above| self.is_part_of_git(above, place))
    }

    /// Returns `true` if git runs this place, or is led elsewhere by it, because of the repository
    /// in `above`.
    fn is_part_of_git(&self, above: &Path, place: &Path) -> bool {
        let Ok(below) = place.strip_prefix(above) else { return false };
        let first = below.components().next().map(|name| plain_name(name.as_os_str()));
        let has = |name: &&str| self.handle().symlink_metadata(above.join(name)).is_ok();
        if !self.protection.is_about_git() {
            return false;
        }
        let is_git = is_git_dir(above, PARTS.iter().filter(|name| has(name)).map(OsStr::new));
        if is_git && first.is_some_and(|first| IN_GIT_DIR.contains(&&*first)) {
            return true;
        }
        let own = is_git.then(|| above.to_owned());
        let git_dirs = [above.join(".git")].into_iter().chain(own);
        git_dirs
            .flat_map(|git_dir| self.paths_git_config_follows(&git_dir))
            .any(|lead| place.starts_with(lead))
    }

    /// Returns the paths to which the configuration in a git directory leads git, from the root.
    fn paths_git_config_follows(&self, git_dir: &Path) -> Vec<PathBuf> {
        let config = git_dir.join("config");
        let text = self.git_text(&config);
        let Some(entries) = text.and_then(|text| parse_config(&text)) else { return Vec::new() };
        let at = |path: &Path| self.root().join(path);
        let leads = paths_git_follows(&entries, &at(&config), &at(git_dir));
        let below = leads.iter().filter_map(|lead| lead.strip_prefix(self.root()).ok());
        below.filter(|lead| !lead.as_os_str().is_empty()).map(Path::to_owned).collect()
    }
}

#[cfg(test)]
#[path = "protects_tests.rs"]
mod tests;
