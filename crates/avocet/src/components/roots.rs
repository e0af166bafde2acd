//! The configured directories beside the workspaces in which file tools work. They must not overlap
//! each other or the daemon's own files.

use std::path::{Path, PathBuf};

use avocet_config::ConfigDocument;
use avocet_sandbox::{RootAccess, trace_symlinks};

use crate::configuration::Root;
use crate::exit::Failure;
use crate::registry::{self, ChannelDirectory};

/// Virtual file systems of the kernel.
pub(crate) const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The paths that directories beside the workspaces must not overlap.
#[derive(Debug)]
pub(crate) struct Others<'o> {
    pub(crate) home: Option<PathBuf>,
    pub(crate) workspaces: Vec<&'o Path>,
    /// The daemon's own files and directories.
    pub(crate) own: Vec<&'o Path>,
    /// The daemon's program.
    pub(crate) program: Option<PathBuf>,
    /// The directories that programs may change beside the workspaces.
    pub(crate) writable: &'o [PathBuf],
}

/// Refuses a missing directory, and one that is unsuitable for file tools. Returns the real paths.
pub(crate) fn check_roots(
    document: &ConfigDocument,
    roots: &[Root],
    others: &Others<'_>,
) -> Result<Vec<PathBuf>, Failure> {
    let check = |(place, root): (usize, &Root)| {
        others.place_of(root, &roots[..place]).map_err(|why| {
            let Root { key, path, .. } = root;
            let message = format!("`{key}`: {} {why}", path.display());
            document.error_at(key, message).into()
        })
    };
    roots.iter().enumerate().map(check).collect()
}

/// Refuses a workspace that contains the whole home directory. The agent's programs could change
/// the operator's files there, and programs that run outside of a sandbox.
pub(crate) fn check_workspace(
    document: &ConfigDocument,
    agent: &str,
    workspace: &Path,
    home: Option<&Path>,
) -> Result<(), Failure> {
    if !contains_home(workspace, home) {
        return Ok(());
    }
    let own = format!("agents.{agent}.workspace");
    let key =
        if document.get(&own).is_some() { own } else { "agents.defaults.workspace".to_owned() };
    let shown = document.get(&key).and_then(|value| value.as_str()).unwrap_or_default();
    let shown = document.hide_reference(&key, shown);
    let message = format!(
        "`{key}`: {shown} contains your whole home, with the files of other programs; name a \
            directory in it, such as \"~/avocet\""
    );
    Err(document.error_at(&key, message).into())
}

/// Returns `true` if a directory contains the whole home directory or file system.
pub(crate) fn contains_home(directory: &Path, home: Option<&Path>) -> bool {
    let place = real_path(directory);
    place == Path::new("/") || home.is_some_and(|home| real_path(home).starts_with(&place))
}

/// Refuses a channel's directory that the agent's tools or programs can reach. Its files count as
/// words of the operator, so the agent could give itself orders.
pub(crate) fn check_channels(
    document: &ConfigDocument,
    reachable: &[&PathBuf],
) -> Result<(), Failure> {
    for ChannelDirectory { key, path, .. } in registry::channel_directories(document)? {
        let here = real_path(&path);
        let overlaps = |other: &Path| {
            let other = real_path(other);
            other.starts_with(&here) || passes_through(&path, |place| place.starts_with(&other))
        };
        if let Some(other) = reachable.iter().find(|other| overlaps(other)) {
            let message = format!(
                "`{key}`: {} and {}, which the agent can reach, overlap; name a separate directory",
                path.display(),
                other.display()
            );
            return Err(document.error_at(&key, message).into());
        }
    }
    Ok(())
}

/// Refuses a file with instructions in a directory that an agent can change.
pub(crate) fn check_prompt_file(
    document: &ConfigDocument,
    key: &str,
    path: &Path,
    changeable: &[&PathBuf],
) -> Result<(), Failure> {
    let reaches = |other: &Path| {
        let other = real_path(other);
        real_path(path).starts_with(&other)
            || passes_through(path, |place| place.starts_with(&other))
    };
    let Some(other) = changeable.iter().find(|other| reaches(other)) else { return Ok(()) };
    let message = format!(
        "`{key}`: {} is in {}, which the agent can change; move it elsewhere, for example beside \
            the configuration",
        path.display(),
        other.display()
    );
    Err(document.error_at(key, message).into())
}

/// Refuses a directory of skills that the agent's tools or programs can change. Its files are
/// trusted, so the agent could give itself orders.
pub(crate) fn check_skills(
    document: &ConfigDocument,
    paths: &[PathBuf],
    changeable: &[&PathBuf],
) -> Result<(), Failure> {
    for (place, path) in paths.iter().enumerate() {
        let here = real_path(path);
        let overlaps = |other: &Path| {
            let other = real_path(other);
            other.starts_with(&here) || passes_through(path, |place| place.starts_with(&other))
        };
        if let Some(other) = changeable.iter().find(|other| overlaps(other)) {
            let key = format!("skills.paths[{place}]");
            let message = format!(
                "`{key}`: {} and {}, which the agent can change, overlap; name a separate \
                    directory. The skills of a workspace are in its directory skills anyway",
                path.display(),
                other.display()
            );
            return Err(document.error_at(&key, message).into());
        }
    }
    Ok(())
}

impl Others<'_> {
    /// Returns the real path of a directory. The error names the fault and the remedy.
    fn place_of(&self, root: &Root, before: &[Root]) -> Result<PathBuf, String> {
        let here = match root.path.canonicalize() {
            Ok(path) if path.is_dir() => path,
            Ok(_) => {
                return Err("is not a directory; name the directory that contains it".to_owned());
            }
            Err(error) => {
                return Err(format!(
                    "cannot be used ({error}); create the directory, or remove the entry"
                ));
            }
        };
        self.find_objection(root, &here, before).map_or(Ok(here), Err)
    }

    /// Returns the fault of an existing directory and the remedy; `None` if it is suitable.
    fn find_objection(&self, root: &Root, here: &Path, before: &[Root]) -> Option<String> {
        self.too_much(here)
            .or_else(|| self.find_overlap(root, here, before))
            .or_else(|| self.find_redirectable(root, here))
    }

    /// Objects to a directory that holds far more than files for the agent.
    fn too_much(&self, here: &Path) -> Option<String> {
        let home = self.home.as_deref().map(real_path);
        let why = if here == Path::new("/") {
            "is the root of the file system; name directories in it"
        } else if home.is_some_and(|home| home.starts_with(here)) {
            "contains your whole home, with the files of other programs; name directories in it"
        } else if KERNEL.iter().any(|kernel| here.starts_with(kernel)) {
            "belongs to the kernel; remove the entry"
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    /// Objects to a directory that is above or below another one with its own purpose.
    fn find_overlap(&self, root: &Root, here: &Path, before: &[Root]) -> Option<String> {
        let overlaps = |other: &&Path| {
            let other = real_path(other);
            other.starts_with(here) || here.starts_with(&other)
        };
        if let Some(workspace) = self.workspaces.iter().copied().find(overlaps) {
            return Some(format!(
                "and the workspace {} overlap; choose another workspace, or remove the entry: file \
                    tools work in a workspace anyway",
                workspace.display()
            ));
        }
        // A link on the way to the daemon's own files counts as its own too.
        let is_own =
            |own: &&Path| overlaps(own) || passes_through(own, |place| place.starts_with(here));
        if let Some(own) = self.own.iter().copied().find(is_own) {
            return Some(format!(
                "and {}, which belongs to the daemon, overlap; name a separate directory",
                own.display()
            ));
        }
        let program = self.program.as_deref().filter(|_| root.access == RootAccess::Change);
        if let Some(program) = program.filter(|program| real_path(program).starts_with(here)) {
            return Some(format!(
                "contains the daemon's program {}, which could then be replaced; install it \
                    elsewhere",
                program.display()
            ));
        }
        let other = before.iter().find(|other| overlaps(&&*other.path))?;
        Some(format!(
            "and {} (`{}`) overlap; name the upper one only",
            other.path.display(),
            other.key
        ))
    }

    /// Objects to a path on whose way others may write: that is enough to redirect the path.
    fn find_redirectable(&self, root: &Root, here: &Path) -> Option<String> {
        let changes_way = |other: &Path| {
            let other = real_path(other);
            passes_through(&root.path, |place| place != other && place.starts_with(&other))
        };
        if let Some(workspace) = self.workspaces.iter().copied().find(|path| changes_way(path)) {
            return Some(format!(
                "is reached through the workspace {}, where the path can be redirected; write it \
                    as {}",
                workspace.display(),
                here.display()
            ));
        }
        let above = self.writable.iter().find(|path| changes_way(path))?;
        Some(if here.starts_with(real_path(above)) {
            format!(
                "is in {}, where programs may change and replace it ([sandbox] write); name the \
                    upper one in both, or choose separate directories",
                above.display()
            )
        } else {
            format!(
                "is reached through {}, where programs can redirect the path ([sandbox] write); \
                    write it as {}",
                above.display(),
                here.display()
            )
        })
    }
}

/// Returns a warning if untrusted content in this directory stays unmarked.
pub(crate) fn unmarked_warning(access: RootAccess, marks: bool) -> Option<&'static str> {
    let warning = "its file system has no extended attributes: untrusted content that the agent \
        writes there has no mark, and counts as trusted once it is moved into a workspace";
    (access == RootAccess::Change && !marks).then_some(warning)
}

/// Returns `true` if a path passes through such a place on its way through links.
fn passes_through(path: &Path, such: impl Fn(&Path) -> bool) -> bool {
    trace_symlinks(path).is_ok_and(|trace| trace.iter().any(|place| such(place)))
}

/// Resolves the links in a path, as far as the path exists.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let below = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if below.as_os_str().is_empty() { real } else { real.join(below) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
