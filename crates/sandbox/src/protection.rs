//! Protected paths: files whose content is run later, outside of the sandbox, by git, by a shell or by an editor.
//! Programs in a sandbox may read them and not change them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use avocet_protocol::{PROTECTED_PATHS, fits};

use crate::secrets::{is_of_packages, plain};

/// The key of the configuration that lists them.
pub const PROTECTED: &str = "[sandbox] protected";

/// The configuration of a repository, which names programs that git runs.
const GIT_CONFIG: &str = ".git/config";
/// Programs that git runs.
const GIT_HOOKS: &str = ".git/hooks";

/// A pattern of the configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{PROTECTED}: {0:?} is not a path such as .git/hooks or .envrc: write a name, or several from one directory to the \
     next, in which * stands for any characters"
)]
pub struct BadPath(String);

/// Which paths are protected. Whole directories are, with everything in them.
#[derive(Debug)]
pub struct Protection {
    /// As they were given.
    patterns: Vec<String>,
    /// The components of each pattern that is not about git, in lower case.
    names: Vec<Vec<String>>,
    /// Whether the configuration of repositories is protected.
    configs: bool,
    /// Whether the hooks of repositories are protected.
    hooks: bool,
    /// The programs that run.
    runs: Mutex<Vec<Weak<Approved>>>,
}

/// What a protected path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The configuration of a repository.
    Config,
    /// The directory of a repository's hooks.
    Hooks,
    /// A file that leads git to another directory: `.git` of a worktree or submodule, or `commondir`.
    Link,
    /// A path of a pattern.
    Other,
}

/// Changes of protected paths that were allowed while a program runs: each file as it was left.
#[derive(Debug, Default)]
pub(crate) struct Approved(Mutex<BTreeMap<PathBuf, Identity>>);

/// Device, inode, and the time of the last change, which programs cannot set.
pub(crate) type Identity = (u64, u64, i64, i64);

impl Protection {
    /// These paths, wherever they are below a directory that programs may change. `.git/config` and `.git/hooks` stand
    /// for those of every repository: bare ones, submodules and worktrees, too.
    ///
    /// # Errors
    /// [`BadPath`] if one of them is not a path.
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
            runs: Mutex::default(),
        })
    }

    /// No path is protected.
    #[must_use]
    pub fn none() -> Self {
        let (patterns, names, runs) = (Vec::new(), Vec::new(), Mutex::default());
        Self { patterns, names, configs: false, hooks: false, runs }
    }

    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    pub(crate) fn is_none(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether what git runs is protected.
    pub(crate) fn is_about_git(&self) -> bool {
        self.configs || self.hooks
    }

    /// What is protected among the entries of a directory, by their numbers. Each entry is a name, and whether it is a
    /// directory.
    pub(crate) fn among<'n>(
        &self,
        directory: &Path,
        entries: impl Iterator<Item = (&'n OsStr, bool)> + Clone,
    ) -> Vec<(usize, Kind)> {
        let is_git_dir =
            self.is_about_git() && is_git_dir(directory, entries.clone().map(|(name, _)| name));
        let kind = |name: &OsStr, is_directory: bool| match &*plain_name(name) {
            "config" | "config.worktree" if is_git_dir && self.configs => Some(Kind::Config),
            "commondir" if is_git_dir && self.configs => Some(Kind::Link),
            "hooks" if is_git_dir && self.hooks => Some(Kind::Hooks),
            ".git" if self.configs && !is_directory => Some(Kind::Link),
            lower => self.has(directory, lower).then_some(Kind::Other),
        };
        let found = entries.enumerate().map(|(at, (name, is_dir))| Some((at, kind(name, is_dir)?)));
        found.flatten().collect()
    }

    /// Whether a pattern names this entry of a directory. Packages bring such files along, and nobody opens a package
    /// in an editor: theirs are not protected.
    fn has(&self, directory: &Path, name: &str) -> bool {
        self.names.iter().any(|pattern| {
            let Some((last, above)) = pattern.split_last() else { return false };
            fits(last, name) && {
                let mut here = directory.components().rev();
                above.iter().rev().all(|wanted| {
                    here.next().is_some_and(|name| fits(wanted, &plain_name(name.as_os_str())))
                })
            }
        }) && !directory.ancestors().any(is_of_packages)
    }

    /// Whether a path is protected by its names alone: it fits a pattern, is below such a directory, or is anything in
    /// a `.git`.
    pub(crate) fn has_name(&self, path: &Path) -> bool {
        let is_git = |place: &Path| {
            let is_named = place.file_name().is_some_and(|name| *plain_name(name) == *".git");
            self.is_about_git() && is_named
        };
        let is_other = |place: &Path| match (place.parent(), place.file_name()) {
            (Some(above), Some(name)) => self.has(above, &plain_name(name)),
            _ => false,
        };
        path.ancestors().any(|place| is_git(place) || is_other(place))
    }

    /// A program runs until the result is dropped.
    pub(crate) fn began(&self) -> Arc<Approved> {
        let approved = Arc::<Approved>::default();
        let mut runs = self.runs();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::downgrade(&approved));
        approved
    }

    /// A file was changed, with leave: programs that run now did not do it.
    pub(crate) fn approve(&self, file: &Path) {
        let Some(identity) = identity(file) else { return };
        for run in self.runs().iter().filter_map(Weak::upgrade) {
            run.files().insert(file.to_owned(), identity);
        }
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<Approved>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Protection {
    /// [`PROTECTED_PATHS`].
    fn default() -> Self {
        match Self::new(&PROTECTED_PATHS.map(str::to_owned)) {
            Ok(protection) => protection,
            Err(error) => panic!("the protected paths are written in the source: {error}"),
        }
    }
}

impl Approved {
    /// Whether a file is as it was left when its change was allowed.
    pub(crate) fn has(&self, file: &Path, now: Identity) -> bool {
        self.files().get(file) == Some(&now)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Identity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn identity(file: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(file).ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

/// Whether git takes a directory with these names in it for the git directory of a repository, or for a part of one.
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

/// A name as file systems without a difference between large and small letters know it.
pub(crate) fn plain_name(name: &OsStr) -> String {
    plain(Path::new(name)).into_os_string().into_string().unwrap_or_default()
}

#[cfg(test)]
#[path = "protection_tests.rs"]
mod tests;
