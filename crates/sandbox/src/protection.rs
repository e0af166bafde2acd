//! Protected paths: files whose content git, a shell or an editor runs later, outside of the
//! sandbox. Programs in a sandbox may read them but not change them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Weak};

use avocet_protocol::access::{INSTRUCTION_FILES, PROTECTED_PATHS};
use avocet_text::fits_pattern;
use parking_lot::Mutex;

use crate::config_keys::PROTECTED;
use crate::read_configs::{FileIdentity, ReadConfigs};
use crate::secrets::{is_of_packages, plain_path};
use crate::writing_programs::WritingPrograms;

/// The configuration of a repository, which names programs that git runs.
const GIT_CONFIG: &str = ".git/config";
/// The hooks of a repository, which git runs.
const GIT_HOOKS: &str = ".git/hooks";

/// A pattern of the configuration that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{PROTECTED}: {0:?} is not a path such as .git/hooks or .envrc: write a name, or several from one directory to the \
     next, in which * stands for any characters"
)]
pub struct BadPath(String);

/// The protected paths. A protected directory includes everything in it.
#[derive(Debug)]
pub struct PathProtection {
    /// The patterns as given.
    patterns: Vec<String>,
    /// The components of each pattern that is not about git, in lower case.
    names: Vec<Vec<String>>,
    /// `true` if the configuration of repositories is protected.
    configs: bool,
    /// `true` if the hooks of repositories are protected.
    hooks: bool,
    /// The running programs.
    runs: Arc<Mutex<Vec<Weak<ApprovedChanges>>>>,
    /// The directories that running programs may change.
    pub(crate) writing: Arc<WritingPrograms>,
    /// The configurations of repositories as they were read last.
    pub(crate) read_configs: Arc<ReadConfigs>,
}

/// The kind of a protected path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectedKind {
    /// The configuration of a repository.
    Config,
    /// The directory of a repository's hooks.
    Hooks,
    /// A file that leads git to another directory: `.git` of a worktree or submodule, or
    /// `commondir`.
    Link,
    /// A path that fits a pattern.
    Other,
}

/// The permitted changes of protected paths while a program runs: each file with its state after
/// the change.
#[derive(Debug, Default)]
pub(crate) struct ApprovedChanges(Mutex<BTreeMap<PathBuf, FileIdentity>>);

impl PathProtection {
    /// Protects these paths anywhere below a directory that programs may change. `.git/config` and
    /// `.git/hooks` stand for those of every repository, including bare ones, submodules and
    /// worktrees.
    ///
    /// # Errors
    /// [`BadPath`] if a pattern is not a path.
    pub fn new(patterns: &[String]) -> Result<Self, BadPath> {
        let is_git = |pattern: &&String| [GIT_CONFIG, GIT_HOOKS].contains(&pattern.as_str());
        let components = |pattern: &String| -> Result<Vec<String>, BadPath> {
            let bad = || BadPath(pattern.clone());
            let names = Path::new(pattern).components().map(|component| match component {
                Component::Normal(name) => Ok(name.to_string_lossy().to_lowercase()),
                _ => Err(bad()),
            });
            let names = names.collect::<Result<Vec<_>, _>>()?;
            if names.is_empty() { Err(bad()) } else { Ok(names) }
        };
        let has = |wanted: &str| patterns.iter().any(|pattern| pattern == wanted);
        Ok(Self {
            names: patterns
                .iter()
                .filter(|one| !is_git(one))
                .map(components)
                .collect::<Result<_, _>>()?,
            configs: has(GIT_CONFIG),
            hooks: has(GIT_HOOKS),
            patterns: patterns.to_vec(),
            runs: Arc::default(),
            writing: Arc::default(),
            read_configs: Arc::default(),
        })
    }

    /// Protects no path.
    #[must_use]
    pub fn without_patterns() -> Self {
        let (patterns, names, runs) = (Vec::new(), Vec::new(), Arc::default());
        let (writing, read_configs) = (Arc::default(), Arc::default());
        Self { patterns, names, configs: false, hooks: false, runs, writing, read_configs }
    }

    /// Returns the same protection with [`INSTRUCTION_FILES`], for calls after untrusted text. It shares
    /// the running programs with this one.
    #[must_use]
    pub fn with_instruction_files(&self) -> Self {
        let lower = INSTRUCTION_FILES.map(str::to_lowercase);
        let names = lower.iter().map(|path| path.split('/').map(str::to_owned).collect());
        Self {
            patterns: [&self.patterns[..], &INSTRUCTION_FILES.map(str::to_owned)].concat(),
            names: self.names.iter().cloned().chain(names).collect(),
            configs: self.configs,
            hooks: self.hooks,
            runs: self.runs.clone(),
            writing: self.writing.clone(),
            read_configs: self.read_configs.clone(),
        }
    }

    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    pub(crate) fn is_none(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns `true` if configuration or hooks of git are protected.
    pub(crate) fn is_about_git(&self) -> bool {
        self.configs || self.hooks
    }

    /// Returns the protected entries of a directory, by their positions. Each entry is a name, and
    /// `true` for a directory.
    pub(crate) fn protected_entries<'n>(
        &self,
        directory: &Path,
        entries: impl Iterator<Item = (&'n OsStr, bool)> + Clone,
    ) -> Vec<(usize, ProtectedKind)> {
        let is_git_dir =
            self.is_about_git() && is_git_dir(directory, entries.clone().map(|(name, _)| name));
        let kind = |name: &OsStr, is_directory: bool| match &*plain_name(name) {
            "config" | "config.worktree" if is_git_dir && self.configs => {
                Some(ProtectedKind::Config)
            }
            "commondir" if is_git_dir && self.configs => Some(ProtectedKind::Link),
            "hooks" if is_git_dir && self.hooks => Some(ProtectedKind::Hooks),
            ".git" if self.configs && !is_directory => Some(ProtectedKind::Link),
            lower => self.matches_pattern(directory, lower).then_some(ProtectedKind::Other),
        };
        let found = entries.enumerate().map(|(at, (name, is_dir))| Some((at, kind(name, is_dir)?)));
        found.flatten().collect()
    }

    /// Returns `true` if a pattern names this entry of a directory. Files of downloaded packages
    /// are exempt: packages often contain such files, and people seldom open a package in an
    /// editor.
    fn matches_pattern(&self, directory: &Path, name: &str) -> bool {
        self.names.iter().any(|pattern| {
            let Some((last, above)) = pattern.split_last() else { return false };
            fits_pattern(last, name) && {
                let mut here = directory.components().rev();
                above.iter().rev().all(|wanted| {
                    here.next()
                        .is_some_and(|name| fits_pattern(wanted, &plain_name(name.as_os_str())))
                })
            }
        }) && !directory.ancestors().any(is_of_packages)
    }

    /// Returns `true` if a path is protected by its names alone: it fits a pattern, is below such a
    /// directory, or is anything in a `.git`.
    pub(crate) fn has_name(&self, path: &Path) -> bool {
        let is_git = |place: &Path| {
            let is_named = place.file_name().is_some_and(|name| *plain_name(name) == *".git");
            self.is_about_git() && is_named
        };
        let is_other = |place: &Path| match (place.parent(), place.file_name()) {
            (Some(above), Some(name)) => self.matches_pattern(above, &plain_name(name)),
            _ => false,
        };
        path.ancestors().any(|place| is_git(place) || is_other(place))
    }

    /// Registers a running program until the result is dropped.
    pub(crate) fn register_program(&self) -> Arc<ApprovedChanges> {
        let approved = Arc::<ApprovedChanges>::default();
        let mut runs = self.runs.lock();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(&approved));
        approved
    }

    /// Notes a permitted change of a file, so that it is not attributed to running programs.
    pub(crate) fn approve_change(&self, file: &Path) {
        let Some(identity) = identity_of(file) else { return };
        for run in self.runs.lock().iter().filter_map(Weak::upgrade) {
            run.0.lock().insert(file.to_owned(), identity);
        }
    }
}

impl Default for PathProtection {
    /// Protects [`PROTECTED_PATHS`].
    fn default() -> Self {
        match Self::new(&PROTECTED_PATHS.map(str::to_owned)) {
            Ok(protection) => protection,
            Err(error) => panic!("the protected paths are written in the source: {error}"),
        }
    }
}

impl ApprovedChanges {
    /// Returns `true` if a file is in the state that a permitted change left.
    pub(crate) fn is_approved(&self, file: &Path, now: FileIdentity) -> bool {
        self.0.lock().get(file) == Some(&now)
    }
}

fn identity_of(file: &Path) -> Option<FileIdentity> {
    let found = fs::symlink_metadata(file).ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

/// Returns `true` if git takes a directory with these names in it for the git directory of a
/// repository, or for a part of one.
pub(crate) fn is_git_dir<'n>(directory: &Path, names: impl Iterator<Item = &'n OsStr>) -> bool {
    if directory.file_name().is_some_and(|name| *plain_name(name) == *".git") {
        return true;
    }
    const PARTS: [&str; 4] = ["objects", "refs", "HEAD", "commondir"];
    let mut has = [false; PARTS.len()];
    for name in names {
        for (part, has) in PARTS.iter().zip(&mut has) {
            *has |= name.eq_ignore_ascii_case(part);
        }
    }
    let [objects, refs, head, common] = has;
    objects && refs || head && common
}

/// Returns a name in the form by which case-insensitive file systems compare it.
pub(crate) fn plain_name(name: &OsStr) -> String {
    plain_path(Path::new(name)).into_os_string().into_string().unwrap_or_default()
}

#[cfg(test)]
#[path = "protection_tests.rs"]
mod tests;
