//! Hides files and sockets below visible directories from programs: secrets by their names, and
//! sockets that other processes listen on.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::plan::{SandboxPlan, SandboxRoot};
use super::protect::{ProtectedSearch, ReadOnly};
use crate::config_keys::SECRET_FILES;
use crate::protection::{BadPath, PathProtection};
use crate::secrets::{BadPattern, PathKind, SecretRules, is_of_packages};

/// Entries of a root that are searched. A root with more entries is refused, because secrets in it
/// could be missed.
const LOOK_AT: usize = 1_000_000;

/// Longest path, in bytes; a little below the kernel's limit.
const MOST_PATH: usize = 4000;

/// Bytes of a PEM file that are searched for a private key.
const MOST_PEM: u64 = 1024 * 1024;

/// The result of a search through the roots of a sandbox.
#[derive(Debug, Default)]
pub(super) struct ConcealedPaths {
    /// Directories with names that make the files in them secrets. Under another name, those files
    /// would be visible.
    pub(super) pinned: BTreeSet<PathBuf>,
    /// Secrets, and directories that cannot be searched for secrets.
    pub(super) covered: BTreeSet<PathBuf>,
    /// Protected paths.
    pub(super) read_only: ReadOnly,
}

/// The reason why the search failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConcealError {
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    #[error(transparent)]
    Path(#[from] BadPath),
    #[error(
        "{0} has too many files to search for secrets, more than {LOOK_AT}: the operator has to choose a smaller \
        workspace"
    )]
    TooManyToChange(PathBuf),
    #[error(
        "{0} has too many files to search for secrets, more than {LOOK_AT}: the operator has to name a smaller \
        directory in [sandbox] read, or show all of it to programs with {SECRET_FILES} = [\"{0}/*\"]"
    )]
    TooManyToRead(PathBuf),
}

/// Returns the secrets and the protected paths in these roots of a plan. The root directory of the
/// sandbox is at `new`.
pub(super) fn find_concealed_paths<'r>(
    plan: &'r SandboxPlan,
    roots: impl Iterator<Item = &'r SandboxRoot> + Clone,
    new: &'r Path,
) -> Result<ConcealedPaths, ConcealError> {
    let protection = PathProtection::new(&plan.protected)?;
    let protect = ProtectedSearch {
        protection: &protection,
        rights: &plan.rights,
        new,
        roots: plan.writable_paths().collect(),
        found: ReadOnly::default(),
    };
    let mut search =
        SecretSearch { new, found: ConcealedPaths::default(), linked: BTreeSet::new(), protect };
    for root in roots.clone() {
        let secrets =
            plan.secrets_but.as_ref().map(|but| SecretRules::new(but, &[])).transpose()?;
        // For a read-only root its own path counts, too: everything in a directory called `.ssh` is
        // a secret.
        let secrets = if root.writable {
            secrets
        } else {
            secrets.map(|secrets| secrets.with_directory(&root.path))
        };
        let protects = root.writable && !protection.is_none();
        if protects || secrets.as_ref().is_some_and(|secrets| !secrets.opens_everything()) {
            search.look_through(root, secrets.as_ref())?;
        }
    }
    if !search.linked.is_empty() || !search.protect.found.linked.is_empty() {
        for root in roots {
            search.look_for_links(root)?;
        }
    }
    let read_only = search.protect.found;
    Ok(ConcealedPaths { read_only, ..search.found })
}

/// A search through the roots.
struct SecretSearch<'n> {
    /// The path of the sandbox's root directory, as this stage sees it.
    new: &'n Path,
    found: ConcealedPaths,
    /// Device and inode of each secret with more than one name.
    linked: BTreeSet<(u64, u64)>,
    protect: ProtectedSearch<'n>,
}

/// The names and types of the entries of a directory.
type Entries = [(OsString, FileType)];

impl SecretSearch<'_> {
    fn look_through(
        &mut self,
        root: &SandboxRoot,
        secrets: Option<&SecretRules>,
    ) -> Result<(), ConcealError> {
        self.walk_root(root, |search, place, directory, entries| {
            if root.writable {
                search.protect.look_at_directory(root, directory, entries);
            }
            let Some(secrets) = secrets else { return Ok(()) };
            for (name, _) in entries.iter().filter(|(_, kind)| kind.is_file()) {
                let path = directory.join(name);
                let is_secret = secrets.why_secret(&path, PathKind::File).is_some();
                let there = place.join(&path);
                if is_secret && (root.writable || !is_public(&there)) {
                    match fs::symlink_metadata(there) {
                        Ok(found) => search.cover_secret(root, &path, &found),
                        Err(error) if error.kind() == ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok(())
        })
    }

    /// Covers further names (hard links) of secrets, and protects those of protected files. Such
    /// names may be anything.
    fn look_for_links(&mut self, root: &SandboxRoot) -> Result<(), ConcealError> {
        self.walk_root(root, |search, place, directory, entries| {
            for (name, _) in entries.iter().filter(|(_, kind)| kind.is_file()) {
                let path = directory.join(name);
                let Ok(found) = fs::symlink_metadata(place.join(&path)) else { continue };
                let (id, path) = ((found.dev(), found.ino()), root.path.join(path));
                if search.linked.contains(&id) {
                    search.found.covered.insert(path);
                } else if root.writable && search.protect.found.linked.contains(&id) {
                    search.protect.found.paths.insert(path);
                }
            }
            Ok(())
        })
    }

    fn cover_secret(&mut self, root: &SandboxRoot, path: &Path, found: &fs::Metadata) {
        if found.nlink() > 1 {
            self.linked.insert((found.dev(), found.ino()));
        }
        if root.writable {
            let above = path.ancestors().skip(1).filter(|above| SecretRules::is_of_secrets(above));
            self.found.pinned.extend(above.map(|above| root.path.join(above)));
        }
        self.found.covered.insert(root.path.join(path));
    }

    /// Calls `look` for each directory of a root, with the path of the root, the path from there,
    /// and the entries. Links are not followed. In a writable root, an unreadable directory is
    /// covered as a whole.
    fn walk_root(
        &mut self,
        root: &SandboxRoot,
        mut look: impl FnMut(&mut Self, &Path, &Path, &Entries) -> io::Result<()>,
    ) -> Result<(), ConcealError> {
        let place = self.new.join(root.path.strip_prefix("/").unwrap_or(&root.path));
        let mut looked_at = 0;
        let mut open = VecDeque::from([PathBuf::new()]);
        while let Some(directory) = open.pop_front() {
            if !root.writable && is_of_packages(&root.path.join(&directory)) {
                continue;
            }
            let listed = list_entries(&place, &directory).and_then(|entries| {
                looked_at += entries.len();
                look(self, &place, &directory, &entries)?;
                Ok(entries)
            });
            match listed {
                Ok(entries) => {
                    let below = entries.into_iter().filter(|(_, kind)| kind.is_dir());
                    open.extend(below.map(|(name, _)| directory.join(name)));
                }
                // A root may be a file, and a directory may have been removed just now.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {}
                // This directory and its mode are closed to programs, too.
                Err(_) if !root.writable => {}
                Err(_) => drop(self.found.covered.insert(root.path.join(directory))),
            }
            if looked_at > LOOK_AT {
                let path = root.path.clone();
                return Err(if root.writable {
                    ConcealError::TooManyToChange(path)
                } else {
                    ConcealError::TooManyToRead(path)
                });
            }
        }
        Ok(())
    }
}

fn list_entries(place: &Path, directory: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(place.join(directory))? {
        let entry = entry?;
        let name = entry.file_name();
        let length = place.as_os_str().len() + directory.as_os_str().len() + name.len() + 2;
        // A path this long cannot be mounted on, but a program could go there step by step.
        if length > MOST_PATH {
            return Err(io::Error::from(ErrorKind::InvalidFilename));
        }
        match entry.file_type() {
            Ok(kind) => entries.push((name, kind)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// Returns `true` for a PEM file without a private key. In read-only directories, certificates have
/// to be readable: programs need them to connect to anything.
fn is_public(file: &Path) -> bool {
    if file.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("pem")) {
        return false;
    }
    const MARK: &[u8] = b"PRIVATE KEY";
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MOST_PEM).read_to_end(&mut text));
    let is_whole = read.is_ok_and(|read| (read as u64) < MOST_PEM);
    is_whole && !text.windows(MARK.len()).any(|part| part == MARK)
}

/// Returns the paths of sockets below `roots` on which a process listens now: programs can connect
/// to them even on a read-only mount. Sockets that are made later, or in another network namespace,
/// are missed.
pub(super) fn sockets_below(roots: &[PathBuf]) -> Vec<PathBuf> {
    if roots.is_empty() {
        return Vec::new();
    }
    // The path is the last field of a row in this table (unix(7)), and may be missing.
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths =
        table.lines().filter_map(|line| line.find(" /").map(|at| Path::new(&line[at + 1..])));
    let real = paths.filter_map(|path| path.canonicalize().ok());
    real.filter(|path| roots.iter().any(|root| path.starts_with(root))).collect()
}
