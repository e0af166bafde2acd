//! Compares the protected paths before and after a program, and sets aside the files that would be
//! run later. With namespaces, a program can make new protected files; without them, it can also
//! change existing ones.

mod survey;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::git::{ConfigEntry, is_plain, parse_config, write_config};
use crate::protection::{ApprovedChanges, PathProtection, ProtectedKind};
use crate::replace::replace_file;
use crate::{ProgramRights, ProgramSandbox};
use survey::{ProtectedFile, read_config};

pub(crate) use survey::{ProtectedSurvey, place_of};

/// The ending of the name of a file that was set aside, maybe followed by a number.
const ASIDE: &str = ".avocet-quarantine";
/// The ending of hooks that git ignores.
const SAMPLE: &str = ".sample";

/// Watches over protected paths while a program runs. Make it before the program starts. Settle or
/// drop it when all processes of the program are gone.
#[derive(Debug)]
pub struct ProtectionGuard {
    protection: Arc<PathProtection>,
    approved: Arc<ApprovedChanges>,
    roots: Vec<WatchedRoot>,
    /// `true` if trusted protected files that existed before were read-only for the program.
    trusted_are_read_only: bool,
    /// `true` if the program is git, which may make and change protected files that git itself does
    /// not run.
    is_git: bool,
    is_settled: bool,
}

/// A directory that the program may change.
#[derive(Debug)]
struct WatchedRoot {
    path: PathBuf,
    directory: Dir,
    before: ProtectedSurvey,
}

/// The changes of protected paths by a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedChanges {
    /// The files that were set aside: each a path, and a text about the action.
    pub aside: Vec<String>,
    /// Changed configurations of repositories, without new entries that git would run.
    pub kept: Vec<PathBuf>,
}

impl ProgramSandbox {
    /// Examines the protected paths before a program starts. This call blocks.
    #[must_use]
    pub fn guard_protected_paths(&self, rights: &ProgramRights) -> ProtectionGuard {
        let watched = |path: &PathBuf| {
            let directory = Dir::open_ambient_dir(path, ambient_authority())?;
            let before = ProtectedSurvey::search_directory(&directory, &self.protection)?;
            Ok(WatchedRoot { path: path.clone(), directory, before })
        };
        let watched = |path: &PathBuf| match watched(path) {
            Ok(watched) => Some(watched),
            // A missing directory stays invisible to programs.
            Err(error) => {
                let error: io::Error = error;
                tracing::debug!(root = %path.display(), %error, "cannot watch protected paths");
                None
            }
        };
        let roots = if self.protection.is_none() { &[][..] } else { &self.writable };
        ProtectionGuard {
            approved: self.protection.register_program(),
            roots: roots.iter().filter_map(watched).collect(),
            protection: self.protection.clone(),
            trusted_are_read_only: self.isolation.has_namespaces(),
            is_git: matches!(rights, ProgramRights::Git(_)),
            is_settled: false,
        }
    }
}

impl ProtectionGuard {
    /// Compares the protected paths with their earlier state, and sets aside files that would be
    /// run. This call blocks.
    #[must_use]
    pub fn settle_changes(mut self) -> ProtectedChanges {
        self.settle_now()
    }

    /// Returns the paths that the program finds read-only, absolute.
    pub fn read_only(&self) -> impl Iterator<Item = PathBuf> {
        let roots = self.roots.iter().filter(|_| self.trusted_are_read_only);
        roots.flat_map(|root| root.before.trusted.iter().map(|path| root.path.join(path)))
    }

    fn settle_now(&mut self) -> ProtectedChanges {
        let mut guarded = ProtectedChanges::default();
        if std::mem::replace(&mut self.is_settled, true) {
            return guarded;
        }
        for root in &self.roots {
            match ProtectedSurvey::search_directory(&root.directory, &self.protection) {
                Ok(now) => self.compare_root(root, &now, &mut guarded),
                Err(error) => {
                    tracing::error!(
                        root = %root.path.display(), %error,
                        "cannot check the changes of a program at protected paths; check them \
                            yourself before you run git or an editor there"
                    );
                }
            }
        }
        for aside in &guarded.aside {
            tracing::warn!(
                aside,
                "a program changed a protected path, whose content would be run outside of its \
                    sandbox"
            );
        }
        guarded
    }

    fn compare_root(
        &self,
        root: &WatchedRoot,
        now: &ProtectedSurvey,
        guarded: &mut ProtectedChanges,
    ) {
        for (path, seen) in &now.files {
            let before = root.before.files.get(path);
            let place = root.path.join(path);
            if before.is_some_and(|before| before.identity == seen.identity)
                || self.approved.is_approved(&place, seen.identity)
                || is_aside(path)
            {
                continue;
            }
            let done = match seen.kind {
                ProtectedKind::Config => self.clean_config(root, path, before, guarded),
                ProtectedKind::Hooks if is_sample(path) || self.was_read_only(root, path) => {
                    continue;
                }
                // The survey has examined the target directory, too.
                ProtectedKind::Link => continue,
                ProtectedKind::Other if self.is_git || self.was_read_only(root, path) => {
                    self.protection.approve_change(&place);
                    continue;
                }
                ProtectedKind::Hooks | ProtectedKind::Other => set_aside(&root.directory, path)
                    .map(|name| Some(format!("set aside as {}", name.display()))),
            };
            match done {
                Ok(None) => {}
                Ok(Some(done)) => guarded.aside.push(format!("{}: {done}", place.display())),
                Err(error) => {
                    guarded
                        .aside
                        .push(format!("{}: could not be set aside: {error}", place.display()));
                }
            }
        }
    }

    /// Returns `true` if the program found a path read-only, so that a change came from elsewhere.
    fn was_read_only(&self, root: &WatchedRoot, path: &Path) -> bool {
        self.trusted_are_read_only
            && path.ancestors().any(|above| root.before.trusted.contains(above))
    }

    /// Removes those entries of a configuration that git would run and did not run before. Returns
    /// a text about the action, if any.
    fn clean_config(
        &self,
        root: &WatchedRoot,
        path: &Path,
        before: Option<&ProtectedFile>,
        guarded: &mut ProtectedChanges,
    ) -> io::Result<Option<String>> {
        let known = before.and_then(|before| before.entries.as_deref()).unwrap_or_default();
        let git_dir = path.parent().unwrap_or(Path::new(""));
        let place = root.path.join(path);
        let found = root.directory.symlink_metadata(path)?;
        let text = read_config(&root.directory, path, &found);
        let entries = text.as_deref().and_then(parse_config);
        let is_fine = |entry: &&ConfigEntry| entry.is_harmless(git_dir) || known.contains(entry);
        let entries = entries.as_deref();
        let taken: Vec<String> = match entries {
            Some(entries) => entries
                .iter()
                .filter(|entry| !is_fine(entry))
                .map(ConfigEntry::dotted_key)
                .collect(),
            None => vec!["all of it, because git would refuse it or it is not a file".to_owned()],
        };
        let is_kept = taken.is_empty();
        // An older file was written by a person or by git. A new one may be crafted to be misread.
        if is_kept && (before.is_some() || text.as_deref().is_some_and(is_plain)) {
            guarded.kept.extend(before.map(|_| place.clone()));
            self.protection.approve_change(&place);
            return Ok(None);
        }
        let name = if is_kept { None } else { Some(set_aside(&root.directory, path)?) };
        let harmless = write_config(entries.unwrap_or(known).iter().filter(is_fine));
        let parent = if git_dir.as_os_str().is_empty() {
            root.directory.try_clone()?
        } else {
            root.directory.open_dir(git_dir)?
        };
        let file = Path::new(path.file_name().unwrap_or_default());
        replace_file(&parent, file, harmless.as_bytes(), None, |_| Ok(()))?;
        self.protection.approve_change(&place);
        let done =
            |name: OsString| format!("removed: {}; original: {}", taken.join(", "), name.display());
        Ok(name.map(done))
    }
}

impl Drop for ProtectionGuard {
    fn drop(&mut self) {
        self.settle_now();
    }
}

fn is_sample(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(SAMPLE))
}

fn is_aside(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(ASIDE))
}

/// Renames a file in its directory, so that nothing runs it.
fn set_aside(root: &Dir, path: &Path) -> io::Result<OsString> {
    let name = path.file_name().unwrap_or(OsStr::new("file"));
    for number in 1.. {
        let mut new = name.to_owned();
        new.push(ASIDE);
        if number > 1 {
            new.push(format!("-{number}"));
        }
        let place = path.with_file_name(&new);
        if root.symlink_metadata(&place).is_err() {
            root.rename(path, root, &place)?;
            return Ok(new);
        }
    }
    Err(io::Error::other("no free name is left"))
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
