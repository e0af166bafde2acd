//! What programs do not see although it is below what they may see: secrets by their names, and the sockets
//! of others.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::plan::Plan;
use crate::secrets::{BadPattern, Secrets};

/// Entries that are looked at: nearest to the roots first, those of a larger tree are seen.
const LOOK_AT: usize = 50_000;

/// The secrets in what may be changed, as they are now; the roots are below `new`.
pub(super) fn concealed(plan: &Plan, new: &Path) -> Result<Vec<PathBuf>, BadPattern> {
    let Some(but) = &plan.secrets_but else { return Ok(Vec::new()) };
    let secrets = Secrets::new(but, &[])?;
    let (mut found, mut looked_at) = (Vec::new(), 0);
    for root in plan.writable() {
        let mut open = VecDeque::from([PathBuf::new()]);
        while let Some(directory) = open.pop_front() {
            let place = new.join(root.strip_prefix("/").unwrap_or(root)).join(&directory);
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                looked_at += 1;
                if looked_at > LOOK_AT {
                    return Ok(found);
                }
                let path = directory.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push_back(path),
                    Ok(kind) if kind.is_file() && secrets.why(&path, false).is_some() => {
                        found.push(root.join(path));
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }
    Ok(found)
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
