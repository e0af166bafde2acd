//! What a program has left at protected paths. With namespaces it could not change those that were there; but no wall
//! keeps it from making new ones, and without namespaces none keeps it from changing them. So they are compared with
//! what was there before, once the program has ended, and what would be run is set aside.

mod survey;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::git::{Entry, is_plain, parse, written};
use crate::protection::{Approved, Kind, Protection};
use crate::replace::replace;
use crate::{Cell, Rights};
use survey::{Seen, read_config};

pub(crate) use survey::{Survey, place_of};

/// What the name of a file ends in that was set aside, maybe with a number.
const ASIDE: &str = ".avocet-quarantine";
/// What git ends the names of hooks in that it does not run.
const SAMPLE: &str = ".sample";

/// Watches over protected paths while a program runs. Made before the program starts; settled, or dropped, when
/// nothing of the program is left.
#[derive(Debug)]
pub struct Guard {
    protection: Arc<Protection>,
    approved: Arc<Approved>,
    roots: Vec<Watched>,
    /// Whether programs found what was there, and is trusted, read-only.
    has_walls: bool,
    /// Whether the program is git, which may make and change protected files that it does not run itself.
    is_git: bool,
    is_settled: bool,
}

/// A directory that the program may change.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    directory: Dir,
    before: Survey,
}

/// What became of protected paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarded {
    /// What was set aside, in words: each a path, and what was done.
    pub aside: Vec<String>,
    /// Configurations of repositories that were changed, with nothing in them that git would run and did not before.
    pub kept: Vec<PathBuf>,
}

impl Cell {
    /// Looks at the protected paths before a program starts. This blocks.
    #[must_use]
    pub fn guard(&self, rights: &Rights) -> Guard {
        let watched = |path: &PathBuf| {
            let directory = Dir::open_ambient_dir(path, ambient_authority())?;
            let before = Survey::of(&directory, &self.protection)?;
            Ok(Watched { path: path.clone(), directory, before })
        };
        let watched = |path: &PathBuf| match watched(path) {
            Ok(watched) => Some(watched),
            // One that is not there is not shown to programs.
            Err(error) => {
                let error: io::Error = error;
                tracing::debug!(root = %path.display(), %error, "no protected paths are looked for");
                None
            }
        };
        let roots = if self.protection.is_none() { &[][..] } else { &self.writable };
        Guard {
            approved: self.protection.began(),
            roots: roots.iter().filter_map(watched).collect(),
            protection: self.protection.clone(),
            has_walls: self.namespaces,
            is_git: matches!(rights, Rights::Git(_)),
            is_settled: false,
        }
    }
}

impl Guard {
    /// Compares the protected paths with what was there before, and sets aside what would be run. This blocks.
    #[must_use]
    pub fn settle(mut self) -> Guarded {
        self.settle_now()
    }

    /// Paths that the program finds read-only, absolute.
    pub fn read_only(&self) -> impl Iterator<Item = PathBuf> {
        let roots = self.roots.iter().filter(|_| self.has_walls);
        roots.flat_map(|root| root.before.trusted.iter().map(|path| root.path.join(path)))
    }

    fn settle_now(&mut self) -> Guarded {
        let mut guarded = Guarded::default();
        if std::mem::replace(&mut self.is_settled, true) {
            return guarded;
        }
        for root in &self.roots {
            match Survey::of(&root.directory, &self.protection) {
                Ok(now) => self.compare(root, &now, &mut guarded),
                Err(error) => {
                    tracing::error!(
                        root = %root.path.display(), %error,
                        "cannot look for what a program has left at protected paths; look at them before you run \
                         git or an editor there"
                    );
                }
            }
        }
        for aside in &guarded.aside {
            tracing::warn!(
                aside,
                "a program has left at a protected path what would be run outside of its sandbox"
            );
        }
        guarded
    }

    fn compare(&self, root: &Watched, now: &Survey, guarded: &mut Guarded) {
        for (path, seen) in &now.files {
            let before = root.before.files.get(path);
            let place = root.path.join(path);
            if before.is_some_and(|before| before.identity == seen.identity)
                || self.approved.has(&place, seen.identity)
                || is_aside(path)
            {
                continue;
            }
            let done = match seen.kind {
                Kind::Config => self.judge(root, path, before, guarded),
                Kind::Hooks if is_sample(path) || self.is_walled(root, path) => continue,
                // The directory that it leads to has been looked at.
                Kind::Link => continue,
                Kind::Other if self.is_git || self.is_walled(root, path) => {
                    self.protection.approve(&place);
                    continue;
                }
                Kind::Hooks | Kind::Other => set_aside(&root.directory, path)
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

    /// Whether programs found a path read-only: a change came from somewhere else.
    fn is_walled(&self, root: &Watched, path: &Path) -> bool {
        self.has_walls && path.ancestors().any(|above| root.before.trusted.contains(above))
    }

    /// Takes out of a configuration what git would run and did not before. Returns what was done, if anything.
    fn judge(
        &self,
        root: &Watched,
        path: &Path,
        before: Option<&Seen>,
        guarded: &mut Guarded,
    ) -> io::Result<Option<String>> {
        let known = before.and_then(|before| before.entries.as_deref()).unwrap_or_default();
        let git_dir = path.parent().unwrap_or(Path::new(""));
        let place = root.path.join(path);
        let found = root.directory.symlink_metadata(path)?;
        let text = read_config(&root.directory, path, &found);
        let entries = text.as_deref().and_then(parse);
        let is_fine = |entry: &&Entry| entry.is_harmless(git_dir) || known.contains(entry);
        let entries = entries.as_deref();
        let taken: Vec<String> = match entries {
            Some(entries) => {
                entries.iter().filter(|entry| !is_fine(entry)).map(Entry::key).collect()
            }
            None => vec!["all of it, which git would refuse or which is no file".to_owned()],
        };
        let is_kept = taken.is_empty();
        // One that was there was written by a person or by git; a new one may be written to be misread.
        if is_kept && (before.is_some() || text.as_deref().is_some_and(is_plain)) {
            guarded.kept.extend(before.map(|_| place.clone()));
            self.protection.approve(&place);
            return Ok(None);
        }
        let name = if is_kept { None } else { Some(set_aside(&root.directory, path)?) };
        let harmless = written(entries.unwrap_or(known).iter().filter(is_fine));
        let parent = match git_dir.as_os_str().is_empty() {
            true => root.directory.try_clone()?,
            false => root.directory.open_dir(git_dir)?,
        };
        let file = Path::new(path.file_name().unwrap_or_default());
        replace(&parent, file, harmless.as_bytes(), None, |_| Ok(()))?;
        self.protection.approve(&place);
        let done = |name: OsString| {
            format!("taken out: {}; as it was: {}", taken.join(", "), name.display())
        };
        Ok(name.map(done))
    }
}

impl Drop for Guard {
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

/// Gives a file another name in its directory, under which nothing runs it.
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
    Err(io::Error::other("there is no name left"))
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
