//! Finds the repository that git would use in a directory of a workspace, and checks whether it is
//! trusted.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use avocet_protocol::access::Trust;
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use crate::file_trust::of_place;
use crate::git::{ConfigEntry, MOST_CONFIG, parse_config, paths_git_follows, without_dots};
use crate::guard::{ProtectedSurvey, place_of};
use crate::protection::{PathProtection, ProtectedKind};
use crate::secrets::PathKind;
use crate::untrusted_tree::is_untrusted;
use crate::{FileError, GitPlace, Workspace, WorkspacePath};

/// Depth to which included configuration files are followed.
const DEEPEST: usize = 5;

/// The repository that git would use in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitRepository {
    /// An untrusted file that decides about programs of git, or about the choice of the repository;
    /// from the root.
    pub untrusted: Option<String>,
    /// An untrusted repository below this one, from the root.
    pub untrusted_below: Option<String>,
    /// The place of the repository; `None` if git would find no repository.
    pub place: Option<GitPlace>,
    /// The names of its filters.
    pub filters: Vec<String>,
}

impl Workspace {
    /// Returns the repository that git would use in a directory. Of nested repositories all count:
    /// an untrusted one among them is reported.
    ///
    /// # Errors
    /// [`FileError`] if the workspace cannot be searched for repositories below.
    pub fn find_repository(&self, directory: &WorkspacePath) -> Result<GitRepository, FileError> {
        let mut search = RepositorySearch {
            workspace: self,
            found: GitRepository::default(),
            filters: BTreeSet::new(),
        };
        let start = self.resolve_links(directory.as_path().to_owned());
        let start = if start == Path::new(".") { PathBuf::new() } else { start };
        for above in start.ancestors() {
            search.look_at(above);
        }
        let RepositorySearch { mut found, filters, .. } = search;
        found.filters = filters.into_iter().collect();
        if found.untrusted.is_none()
            && let Some(place) = &found.place
        {
            found.untrusted_below = self.untrusted_below(place, directory)?;
        }
        Ok(found)
    }

    /// Reads the text of a file that git reads. Returns `None` if the file is unreadable, too long,
    /// or a secret, perhaps behind a link.
    pub(crate) fn git_text(&self, path: &Path) -> Option<String> {
        let is_secret = |place: &Path| self.secrets().why_secret(place, PathKind::File).is_some();
        if is_secret(path) || is_secret(&self.resolve_links(path.to_owned())) {
            return None;
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = self.handle().open_with(path, &options).ok()?;
        let found = file.metadata().ok()?;
        // The link may have changed since.
        let has_moved = self.path_of_opened(&file).is_some_and(|place| is_secret(&place));
        if has_moved || !found.is_file() || found.len() > MOST_CONFIG {
            return None;
        }
        let mut text = String::new();
        file.take(MOST_CONFIG).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Returns the configuration of an untrusted repository below another one.
    fn untrusted_below(
        &self,
        place: &GitPlace,
        directory: &WorkspacePath,
    ) -> Result<Option<String>, FileError> {
        let Some(worktree) = &place.worktree else { return Ok(None) };
        let survey = ProtectedSurvey::search_directory(self.handle(), &PathProtection::default());
        let survey = survey.map_err(|error| self.file_error(directory, &error))?;
        let is_below = |path: &&PathBuf| {
            let place = self.root().join(path);
            place.starts_with(worktree)
                && (!survey.trusted.contains(*path) || of_place(path) < Trust::Full)
        };
        let configs = survey.files.iter().filter(|(_, seen)| seen.kind == ProtectedKind::Config);
        let found = configs.map(|(path, _)| path).find(is_below);
        Ok(found.map(|path| path.display().to_string()))
    }
}

struct RepositorySearch<'w> {
    workspace: &'w Workspace,
    found: GitRepository,
    filters: BTreeSet<String>,
}

impl RepositorySearch<'_> {
    /// Looks for a repository in a directory: in its `.git`, or the directory itself if it is a
    /// bare repository.
    fn look_at(&mut self, directory: &Path) {
        let dot_git = directory.join(".git");
        match self.workspace.handle().metadata(&dot_git) {
            Ok(found) if found.is_dir() => self.add_git_dir(Some(directory), &dot_git),
            Ok(_) => {
                self.check_trust(&dot_git);
                match self.leads_to(&dot_git, "gitdir: ", directory) {
                    Some(git_dir) => self.add_git_dir(Some(directory), &git_dir),
                    // The target is unknown, and so are the programs that git would run.
                    None => self.report_untrusted(&dot_git),
                }
            }
            // A link that leads out of the workspace.
            Err(_) if self.workspace.handle().symlink_metadata(&dot_git).is_ok() => {
                self.report_untrusted(&dot_git);
            }
            Err(_) => {}
        }
        let has =
            |name: &str| self.workspace.handle().symlink_metadata(directory.join(name)).is_ok();
        if has("objects") && has("refs") || has("HEAD") && has("commondir") {
            self.add_git_dir(None, directory);
        }
    }

    fn add_git_dir(&mut self, worktree: Option<&Path>, git_dir: &Path) {
        let mut git_dirs = vec![git_dir.to_owned()];
        let common = git_dir.join("commondir");
        if self.path_exists(&common) {
            self.check_trust(&common);
            match self.leads_to(&common, "", git_dir) {
                Some(directory) => git_dirs.push(directory),
                None => self.report_untrusted(&common),
            }
        }
        for git_dir in &git_dirs {
            for name in ["config", "config.worktree"] {
                self.look_into(&git_dir.join(name), git_dir, 0);
            }
        }
        let root = self.workspace.root();
        let at = |path: &Path| {
            if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) }
        };
        let git_dirs = git_dirs.iter().map(|path| at(path)).collect();
        self.found.place.get_or_insert(GitPlace { worktree: worktree.map(at), git_dirs });
    }

    /// Reads a configuration and those that it includes.
    fn look_into(&mut self, config: &Path, git_dir: &Path, depth: usize) {
        if !self.path_exists(config) {
            return;
        }
        self.check_trust(config);
        let Some(entries) = self.workspace.git_text(config).and_then(|text| parse_config(&text))
        else {
            return self.report_untrusted(config);
        };
        let is_filter = |entry: &&ConfigEntry| entry.section == "filter";
        self.filters
            .extend(entries.iter().filter(is_filter).filter_map(|entry| entry.subsection.clone()));
        let root = self.workspace.root();
        for lead in paths_git_follows(&entries, &root.join(config), &root.join(git_dir)) {
            // Files outside the workspace are the operator's, and hidden from programs.
            let Ok(below) = lead.strip_prefix(root) else { continue };
            let is_file =
                self.workspace.handle().metadata(below).is_ok_and(|found| found.is_file());
            if is_file && depth < DEEPEST {
                self.look_into(below, git_dir, depth + 1);
            }
        }
    }

    /// Returns the path to which the text of a file leads, from the root; `None` if it is outside
    /// or unknown.
    fn leads_to(&self, file: &Path, before: &str, from: &Path) -> Option<PathBuf> {
        let text = self.workspace.git_text(file)?;
        let target = text.strip_prefix(before)?.trim_end_matches(['\n', '\r']);
        let root = self.workspace.root();
        let place = without_dots(&root.join(from).join(target));
        let below = place.strip_prefix(root).ok()?;
        // Links are followed, as by git.
        Some(self.workspace.resolve_links(below.to_owned()))
    }

    fn path_exists(&self, path: &Path) -> bool {
        self.workspace.handle().symlink_metadata(path).is_ok()
    }

    /// Reports a file if it is untrusted.
    fn check_trust(&mut self, path: &Path) {
        let workspace = self.workspace;
        let real = workspace.resolve_links(path.to_owned());
        let is_marked = |path: &Path| {
            is_untrusted(&place_of(workspace.handle()), path) || of_place(path) < Trust::Full
        };
        let being_written = match workspace.handle().metadata(path) {
            Ok(found) => workspace.provenance.least_running(|run| run.can_have_changed(&found)),
            Err(_) => Trust::Full,
        };
        let least = being_written.min(workspace.provenance.highest_trust());
        if least < Trust::Full || is_marked(path) || is_marked(&real) {
            self.report_untrusted(path);
        }
    }

    fn report_untrusted(&mut self, path: &Path) {
        self.found.untrusted.get_or_insert(path.display().to_string());
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
