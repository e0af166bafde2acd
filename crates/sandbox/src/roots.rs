//! The directories beside the workspace in which file tools work, too, and in which of them all a path is.

use std::path::Path;
use std::sync::Arc;

use avocet_protocol::{LeastTrust, Trust};

use crate::{FileError, Workspace, WorkspaceError, WorkspacePath};

/// The key of the configuration that has directories which are only read.
pub const READ_ROOTS: &str = "[tools] read";
/// The key of the configuration that has directories which are changed, too.
pub const WRITE_ROOTS: &str = "[tools] write";

/// What is done in a directory beside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Files are read.
    Read,
    /// Files are read, made, changed and removed.
    Change,
}

/// What a directory beside a workspace has otherwise than the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    /// Paths are shown with it.
    pub(crate) root: Arc<Path>,
    pub(crate) access: Access,
}

/// A workspace and the directories beside it, of which none is in another. A clone is the same.
#[derive(Debug, Clone)]
pub struct Roots {
    workspace: Workspace,
    beside: Vec<Workspace>,
}

impl Roots {
    /// A workspace, and directories that [`Workspace::beside`] has opened.
    #[must_use]
    pub fn new(workspace: Workspace, beside: Vec<Workspace>) -> Self {
        Self { workspace, beside }
    }

    /// The workspace alone.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The directories beside it, as they are shown: each with what is done there.
    pub fn beside(&self) -> impl Iterator<Item = (&Path, Access)> {
        let beside = self.beside.iter().filter_map(|one| one.beside.as_ref());
        beside.map(|beside| (&*beside.root, beside.access))
    }

    /// Where a path is, as it was given: in the directory beside the workspace that an absolute one leads
    /// into, else in the workspace. It is to be resolved there.
    ///
    /// # Errors
    /// [`FileError::Outside`] names all directories that there are.
    pub fn of(&self, given: &str) -> Result<&Workspace, FileError> {
        if let Some(beside) = self.beside_of(given) {
            return Ok(beside);
        }
        match self.workspace.resolve(given) {
            Err(FileError::Outside { input, resolved, same_name, .. }) => {
                Err(FileError::Outside { input, resolved, same_name, roots: self.shown() })
            }
            // What else is wrong is said when it is used.
            Ok(_) | Err(_) => Ok(&self.workspace),
        }
    }

    /// The same path by one name, whichever of its names was given: absolute, without `.` and `..`. One that
    /// is outside stays as it is.
    #[must_use]
    pub fn place(&self, given: &str) -> String {
        let place = self.beside_of(given).unwrap_or(&self.workspace).place_of(given);
        place.map_or_else(|| given.to_owned(), |place| place.display().to_string())
    }

    fn beside_of(&self, given: &str) -> Option<&Workspace> {
        let is_there = |one: &&Workspace| one.place_of(given).is_some();
        self.beside.iter().find(is_there).filter(|_| Path::new(given).is_absolute())
    }

    fn shown(&self) -> Vec<String> {
        let beside = self.beside().map(|(root, access)| shown(root, access));
        let workspace = self.workspace.root().display().to_string();
        match self.beside.is_empty() {
            true => Vec::new(),
            false => [workspace].into_iter().chain(beside).collect(),
        }
    }

    /// As [`Workspace::on_behalf`], for all of them.
    #[must_use]
    pub fn on_behalf(&self, trust: Trust, told: &LeastTrust) -> Self {
        self.each(|one| one.on_behalf(trust, told.clone()))
    }

    /// As [`Workspace::apart`], for all of them.
    #[must_use]
    pub fn apart(&self) -> Self {
        self.each(Workspace::apart)
    }

    fn each(&self, same: impl Fn(&Workspace) -> Workspace) -> Self {
        Self { workspace: same(&self.workspace), beside: self.beside.iter().map(&same).collect() }
    }
}

impl From<Workspace> for Roots {
    fn from(workspace: Workspace) -> Self {
        Self::new(workspace, Vec::new())
    }
}

/// A directory with what is done there, for people and models.
fn shown(root: &Path, access: Access) -> String {
    match access {
        Access::Read => format!("{}: read only", root.display()),
        Access::Change => root.display().to_string(),
    }
}

impl Workspace {
    /// Opens a directory beside workspaces. It has the same walls; its files are named by absolute paths, and
    /// what is read there has low trust: others write there, too.
    ///
    /// # Errors
    /// [`WorkspaceError`] if it is not there, or cannot be opened or listed.
    pub fn beside(path: &Path, access: Access) -> Result<Self, WorkspaceError> {
        let what = "the directory beside the workspace";
        Self::at(path, Some(access)).map_err(|error| WorkspaceError {
            what,
            path: path.into(),
            error,
        })
    }

    /// Complains if nothing is changed here.
    ///
    /// # Errors
    /// [`FileError::ReadOnly`].
    pub fn can_change(&self, path: &WorkspacePath) -> Result<(), FileError> {
        match &self.beside {
            Some(Beside { root, access: Access::Read }) => {
                Err(FileError::ReadOnly { path: path.as_given(), root: root.display().to_string() })
            }
            Some(Beside { access: Access::Change, .. }) | None => Ok(()),
        }
    }

    /// A path from the root as it is named: with the root, beside the workspace.
    pub(crate) fn shown(&self, path: String) -> String {
        match &self.beside {
            Some(Beside { root, .. }) => root.join(path).display().to_string(),
            None => path,
        }
    }
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
