//! The protected files below a directory, at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, FileType, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use crate::git::{ConfigEntry, MOST_CONFIG, parse_config, paths_git_follows};
use crate::protection::{PathProtection, ProtectedKind, plain_name};
use crate::read_configs::FileIdentity;
use crate::untrusted_tree::is_untrusted;

/// Entries that are searched. The sandbox of a larger directory does not start.
const LOOK_AT: usize = 1_000_000;
/// Directories of a `.git` with data only, without configuration and hooks.
const ONLY_DATA: [&str; 4] = ["lfs", "logs", "objects", "refs"];

/// The protected files, by their paths from the root.
#[derive(Debug, Default)]
pub(crate) struct ProtectedSurvey {
    pub(crate) files: BTreeMap<PathBuf, ProtectedFile>,
    /// Trusted protected files and directories. With namespaces, programs find them read-only.
    pub(crate) trusted: BTreeSet<PathBuf>,
    looked_at: usize,
}

#[derive(Debug)]
pub(crate) struct ProtectedFile {
    pub(crate) kind: ProtectedKind,
    pub(crate) identity: FileIdentity,
    /// The entries of a configuration; `None` if git would refuse it.
    pub(crate) entries: Option<Arc<[ConfigEntry]>>,
}

impl ProtectedSurvey {
    /// Searches everything below a directory. Links are not followed.
    pub(crate) fn search_directory(root: &Dir, protection: &PathProtection) -> io::Result<Self> {
        let mut survey = Self::default();
        let mut open = vec![PathBuf::new()];
        // A configuration may name an absolute path below the root.
        let base = fs::read_link(place_of(root))?;
        let mut hooks = BTreeSet::new();
        while let Some(directory) = open.pop() {
            let Some(entries) = survey.list_entries(root, &directory)? else { continue };
            let named = entries.iter().map(|(name, kind)| (name.as_os_str(), kind.is_dir()));
            let mut is_repository = false;
            for (at, kind) in protection.protected_entries(&directory, named) {
                let path = directory.join(&entries[at].0);
                let is_trusted = !is_untrusted(&place_of(root), &path);
                if is_trusted {
                    survey.trusted.insert(path.clone());
                }
                if entries[at].1.is_dir() {
                    survey.look_into(root, &path, kind, protection)?;
                    continue;
                }
                is_repository |= is_trusted && kind == ProtectedKind::Config;
                survey.look_at(root, &path, kind, protection);
                if let Some(entries) =
                    survey.files.get(&path).and_then(|seen| seen.entries.as_ref())
                {
                    hooks.extend(paths_git_follows(
                        entries,
                        &base.join(&path),
                        &base.join(&directory),
                    ));
                }
            }
            let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
            if is_repository && has("objects") && has("refs") && !has("hooks") {
                // A sandbox with namespaces makes the missing directory.
                survey.trusted.insert(directory.join("hooks"));
            }
            let is_data = |name: &OsString| {
                let in_git =
                    directory.components().any(|part| plain_name(part.as_os_str()) == ".git");
                in_git && ONLY_DATA.iter().any(|data| name == data)
            };
            let below = entries.iter().filter(|(name, kind)| kind.is_dir() && !is_data(name));
            open.extend(below.map(|(name, _)| directory.join(name)));
        }
        for lead in hooks {
            match lead.strip_prefix(&base) {
                Ok(path) if !path.as_os_str().is_empty() => {
                    survey.look_at_lead(root, path, protection)?;
                }
                _ => {}
            }
        }
        Ok(survey)
    }

    /// Examines a directory of hooks that a configuration names, or further configuration.
    fn look_at_lead(
        &mut self,
        root: &Dir,
        path: &Path,
        protection: &PathProtection,
    ) -> io::Result<()> {
        match root.symlink_metadata(path) {
            Ok(found) if found.is_dir() => {
                self.look_into(root, path, ProtectedKind::Hooks, protection)?;
            }
            Ok(_) => self.look_at(root, path, ProtectedKind::Config, protection),
            Err(_) => return Ok(()),
        }
        if !is_untrusted(&place_of(root), path) {
            self.trusted.insert(path.to_owned());
        }
        Ok(())
    }

    /// Examines the files in a protected directory; for `Other`, also those below it.
    fn look_into(
        &mut self,
        root: &Dir,
        directory: &Path,
        kind: ProtectedKind,
        protection: &PathProtection,
    ) -> io::Result<()> {
        let mut open = vec![directory.to_owned()];
        while let Some(directory) = open.pop() {
            for (name, found) in self.list_entries(root, &directory)?.unwrap_or_default() {
                let path = directory.join(name);
                if !found.is_dir() {
                    self.look_at(root, &path, kind, protection);
                } else if kind == ProtectedKind::Other {
                    open.push(path);
                }
            }
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        root: &Dir,
        path: &Path,
        kind: ProtectedKind,
        protection: &PathProtection,
    ) {
        // The file may have gone since.
        let Ok(found) = root.symlink_metadata(path) else { return };
        let identity = (found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
        let read = || {
            let text = read_config(root, path, &found)?;
            parse_config(&text).map(Arc::from)
        };
        let entries = match kind {
            ProtectedKind::Config => protection.read_configs.get_or_read(identity, read),
            ProtectedKind::Hooks | ProtectedKind::Link | ProtectedKind::Other => None,
        };
        self.files.insert(path.to_owned(), ProtectedFile { kind, identity, entries });
    }

    /// Lists the entries of a directory. Returns `None` if it has gone, or is closed to this user
    /// and so to programs.
    fn list_entries(
        &mut self,
        root: &Dir,
        directory: &Path,
    ) -> io::Result<Option<Vec<(OsString, FileType)>>> {
        let place = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let Ok(entries) = root.read_dir(place) else { return Ok(None) };
        let known = entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)));
        let known: Vec<_> = known.collect();
        self.looked_at += known.len();
        if self.looked_at > LOOK_AT {
            return Err(io::Error::other("there are too many files to search for protected ones"));
        }
        Ok(Some(known))
    }
}

/// Reads a configuration. Returns `None` for anything but a regular file of UTF-8 that is short
/// enough.
pub(super) fn read_config(root: &Dir, path: &Path, found: &Metadata) -> Option<String> {
    if !found.is_file() || found.len() > MOST_CONFIG {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    let file = root.open_with(path, &options).ok()?;
    let mut text = String::new();
    file.take(MOST_CONFIG).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns a path for an open directory.
pub(crate) fn place_of(directory: &Dir) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()).into()
}
