//! What programs do not see although it is below what they may see: secrets by their names, and the sockets
//! of others.

use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::plan::Plan;
use crate::secrets::{BadPattern, Secrets};

/// Entries of a root that are looked at. A larger tree may have secrets that nobody knows of.
const LOOK_AT: usize = 1_000_000;

/// Bytes of a path, below the kernel's limit.
const MOST_PATH: usize = 4000;

/// What is concealed, as it is now.
#[derive(Debug, Default)]
pub(super) struct Concealed {
    /// Directories by whose names the files in them are secrets: under another name they would be none.
    pub(super) pinned: Vec<PathBuf>,
    /// Secrets, and directories of which nobody knows what is in them.
    pub(super) covered: Vec<PathBuf>,
}

/// Why it is not known what to conceal.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unknown {
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    #[error(
        "{0} has too many files to look for secrets in, more than {LOOK_AT}: its operator has to \
        choose a smaller workspace"
    )]
    TooMany(PathBuf),
}

/// The secrets in what may be changed; the roots are below `new`.
pub(super) fn concealed(plan: &Plan, new: &Path) -> Result<Concealed, Unknown> {
    let mut found = Concealed::default();
    let Some(but) = &plan.secrets_but else { return Ok(found) };
    let secrets = Secrets::new(but, &[])?;
    for root in plan.writable() {
        let place = new.join(root.strip_prefix("/").unwrap_or(root));
        look(root, &place, &secrets, &mut found)?;
    }
    Ok(found)
}

/// Looks through a root, which is at this place.
fn look(
    root: &Path,
    place: &Path,
    secrets: &Secrets,
    found: &mut Concealed,
) -> Result<(), Unknown> {
    let mut looked_at = 0;
    let mut open = VecDeque::from([PathBuf::new()]);
    while let Some(directory) = open.pop_front() {
        let entries = match fs::read_dir(place.join(&directory)) {
            Ok(entries) => entries,
            // A root may be a file; and what was removed just now has nothing in it.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) =>
            {
                continue;
            }
            Err(_) => {
                found.covered.push(root.join(directory));
                continue;
            }
        };
        for entry in entries {
            looked_at += 1;
            if looked_at > LOOK_AT {
                return Err(Unknown::TooMany(root.to_owned()));
            }
            let entry =
                entry.and_then(|entry| Ok((directory.join(entry.file_name()), entry.file_type()?)));
            match entry {
                // Nothing could be mounted there, but a program could go there step by step.
                Ok((path, _)) if place.as_os_str().len() + path.as_os_str().len() > MOST_PATH => {
                    found.covered.push(root.join(&directory));
                    break;
                }
                Ok((path, kind)) if kind.is_dir() => {
                    if Secrets::is_of_secrets(&path) {
                        found.pinned.push(root.join(&path));
                    }
                    open.push_back(path);
                }
                Ok((path, kind)) if kind.is_file() && secrets.why(&path, false).is_some() => {
                    found.covered.push(root.join(path));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => {
                    found.covered.push(root.join(&directory));
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Where somebody listens now below one of these paths: a mount that is read-only keeps nobody from a socket. Which
/// are made later, or in another namespace of networks, is not known.
pub(super) fn sockets_below(roots: &[PathBuf]) -> Vec<PathBuf> {
    if roots.is_empty() {
        return Vec::new();
    }
    // The last field of unix(7)'s table, if there is one.
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths =
        table.lines().filter_map(|line| line.find(" /").map(|at| Path::new(&line[at + 1..])));
    let real = paths.filter_map(|path| path.canonicalize().ok());
    real.filter(|path| roots.iter().any(|root| path.starts_with(root))).collect()
}
