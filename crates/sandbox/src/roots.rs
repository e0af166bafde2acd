//! The directories beside the workspace that file tools may use, and the choice of the one that a
//! path belongs to.

use std::path::Path;
use std::sync::Arc;

use avocet_protocol::access::{LeastTrust, Trust};

use crate::{FileError, Workspace, WorkspaceError, WorkspacePath};

/// The permitted access to a directory beside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootAccess {
    /// Files are read.
    Read,
    /// Files are read, made, changed and removed.
    Change,
}

/// The properties of a directory beside a workspace.
#[derive(Debug, Clone)]
pub(crate) struct BesideRoot {
    /// The root, with which paths are shown.
    pub(crate) root: Arc<Path>,
    pub(crate) access: RootAccess,
}

/// A workspace and the separate directories beside it. Clones share their state.
#[derive(Debug, Clone)]
pub struct WorkspaceRoots {
    workspace: Workspace,
    beside: Vec<Workspace>,
}

impl WorkspaceRoots {
    /// Combines a workspace with directories that [`Workspace::open_beside`] has opened.
    #[must_use]
    pub fn new(workspace: Workspace, beside: Vec<Workspace>) -> Self {
        Self { workspace, beside }
    }

    /// Returns the workspace alone.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the directories beside it in their shown form, each with the permitted access.
    pub fn beside_roots(&self) -> impl Iterator<Item = (&Path, RootAccess)> {
        let beside = self.beside.iter().filter_map(|one| one.beside.as_ref());
        beside.map(|beside| (&*beside.root, beside.access))
    }

    /// Returns the place of a given path: the directory beside the workspace that contains it, if
    /// the path is absolute; otherwise the workspace. The caller resolves the path there.
    ///
    /// # Errors
    /// [`FileError::Outside`], with the names of all directories.
    pub fn root_of(&self, given: &str) -> Result<&Workspace, FileError> {
        if let Some(beside) = self.beside_of(given) {
            return Ok(beside);
        }
        match self.workspace.resolve_path(given) {
            Err(FileError::Outside { input, resolved, same_name, .. }) => {
                Err(FileError::Outside { input, resolved, same_name, roots: self.shown_roots() })
            }
            // Other errors are reported when the path is used.
            Ok(_) | Err(_) => Ok(&self.workspace),
        }
    }

    /// Returns one name for a path that may be given in several ways: absolute, without `.` and
    /// `..`. A path that is outside stays unchanged.
    #[must_use]
    pub fn canonical_name(&self, given: &str) -> String {
        let place = self.beside_of(given).unwrap_or(&self.workspace).place_of(given);
        place.map_or_else(|| given.to_owned(), |place| place.display().to_string())
    }

    fn beside_of(&self, given: &str) -> Option<&Workspace> {
        let is_there = |one: &&Workspace| one.place_of(given).is_some();
        self.beside.iter().find(is_there).filter(|_| Path::new(given).is_absolute())
    }

    fn shown_roots(&self) -> Vec<String> {
        if self.beside.is_empty() {
            return Vec::new();
        }
        let beside = self.beside_roots().map(|(root, access)| format_root(root, access));
        let workspace = self.workspace.root().display().to_string();
        [workspace].into_iter().chain(beside).collect()
    }

    /// Applies [`Workspace::on_behalf`] to all of them.
    #[must_use]
    pub fn on_behalf(&self, trust: Trust, shown: &LeastTrust) -> Self {
        self.map_roots(|one| one.on_behalf(trust, shown.clone()))
    }

    /// Applies [`Workspace::examine_apart`] to all of them.
    #[must_use]
    pub fn examine_apart(&self) -> Self {
        self.map_roots(Workspace::examine_apart)
    }

    fn map_roots(&self, same: impl Fn(&Workspace) -> Workspace) -> Self {
        Self { workspace: same(&self.workspace), beside: self.beside.iter().map(&same).collect() }
    }
}

impl From<Workspace> for WorkspaceRoots {
    fn from(workspace: Workspace) -> Self {
        Self::new(workspace, Vec::new())
    }
}

/// Formats a directory and the access to it, for people and models.
fn format_root(root: &Path, access: RootAccess) -> String {
    match access {
        RootAccess::Read => format!("{}: read only", root.display()),
        RootAccess::Change => root.display().to_string(),
    }
}

impl Workspace {
    /// Opens a directory beside workspaces. It is confined in the same way. Its files are named by
    /// absolute paths. Data read there has low trust, because others write there, too.
    ///
    /// # Errors
    /// [`WorkspaceError`] if the directory is missing, or cannot be opened or listed.
    pub fn open_beside(path: &Path, access: RootAccess) -> Result<Self, WorkspaceError> {
        let what = "the directory beside the workspace";
        Self::open_with_access(path, Some(access)).map_err(|error| WorkspaceError {
            what,
            path: path.into(),
            error,
        })
    }

    /// Fails if this directory is read-only.
    ///
    /// # Errors
    /// [`FileError::ReadOnly`].
    pub fn can_change(&self, path: &WorkspacePath) -> Result<(), FileError> {
        match &self.beside {
            Some(BesideRoot { root, access: RootAccess::Read }) => {
                Err(FileError::ReadOnly { path: path.as_given(), root: root.display().to_string() })
            }
            Some(BesideRoot { access: RootAccess::Change, .. }) | None => Ok(()),
        }
    }

    /// Returns a path in its shown form: with the root, if that is beside the workspace.
    pub(crate) fn shown_path(&self, path: String) -> String {
        match &self.beside {
            Some(BesideRoot { root, .. }) => root.join(path).display().to_string(),
            None => path,
        }
    }
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
