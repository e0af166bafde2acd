//! Files for an editor. An editor opens files by their paths, without the confinement of a
//! workspace.

use std::path::PathBuf;

use avocet_protocol::access::Trust;
use cap_std::fs::Dir;

use crate::{FileError, Workspace, WorkspacePath};

impl Workspace {
    /// Returns the absolute path of an existing regular file, without links. `None` for a protected
    /// file, for a file beside the workspace, and while a program runs that may change the
    /// workspace. Such a program could put a link to another place into the path before the editor
    /// opens it.
    #[must_use]
    pub fn place_for_editor(&self, path: &WorkspacePath) -> Option<PathBuf> {
        let is_watched = !self.provenance.running_programs().is_empty();
        if self.beside.is_some() || is_watched || self.protection.writing.can_change(self.root()) {
            return None;
        }
        let (file, _) = self.examine_apart().open_regular(path).ok()?;
        let place = self.path_of_opened(&file)?;
        let resolved = self.resolve_path(place.to_str()?).ok()?;
        let is_protected = self.is_protected(path) || self.is_protected(&resolved);
        (!is_protected).then(|| self.root().join(place))
    }

    /// Lowers the trust of an existing file to at most `trust`. An editor saves files without the
    /// mark that a write of the workspace gives them.
    ///
    /// # Errors
    /// [`FileError`] if the mark cannot be set.
    pub fn lower_trust(&self, path: &WorkspacePath, trust: Trust) -> Result<(), FileError> {
        if trust == Trust::Full {
            return Ok(());
        }
        let real = self.resolve_links(path.as_path().to_owned());
        let parent = match real.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.handle().open_dir(parent),
            _ => self.handle().try_clone(),
        };
        let lowered =
            parent.and_then(|parent: Dir| self.provenance.lower_trust(&parent, Some(&real), trust));
        lowered.map_err(|error| self.file_error(path, &error))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn world() -> (TempDir, Workspace) {
        let directory = TempDir::new().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.txt"), "one").unwrap();
        fs::write(root.join(".envrc"), "export A=1").unwrap();
        fs::write(directory.path().join("outside.txt"), "secret").unwrap();
        symlink("src", root.join("inside")).unwrap();
        symlink("../outside.txt", root.join("leads-out.txt")).unwrap();
        symlink("..", root.join("up")).unwrap();
        fs::hard_link(directory.path().join("outside.txt"), root.join("shared.txt")).unwrap();
        let workspace = Workspace::open(&root).unwrap().with_protection(std::sync::Arc::default());
        (directory, workspace)
    }

    fn place(workspace: &Workspace, path: &str) -> Option<PathBuf> {
        workspace.place_for_editor(&workspace.resolve_path(path).unwrap())
    }

    #[test]
    fn place_for_editor_is_the_real_path_of_an_ordinary_file_and_never_leads_out() {
        let (_directory, workspace) = world();
        let real = workspace.root().join("src/a.txt");
        assert_eq!(place(&workspace, "src/a.txt"), Some(real.clone()));
        assert_eq!(place(&workspace, "inside/a.txt"), Some(real));
        for path in ["leads-out.txt", "up/outside.txt", "shared.txt", ".envrc", "src", "none.txt"] {
            assert_eq!(place(&workspace, path), None, "{path}");
        }
    }

    #[test]
    fn place_for_editor_is_unknown_while_a_program_runs() {
        let (_directory, workspace) = world();
        let watch = workspace.watch_program();
        assert_eq!(place(&workspace, "src/a.txt"), None);
        drop(watch);
        assert!(place(&workspace, "src/a.txt").is_some());
    }

    #[test]
    fn place_for_editor_is_unknown_while_another_program_may_change_the_workspace() {
        let (directory, workspace) = world();
        let root = workspace.root().to_owned();
        let beside = directory.path().canonicalize().unwrap().join("beside");
        for (writable, is_known) in [
            (vec![beside.clone()], true),
            (vec![beside.clone(), root.clone()], false),
            (vec![root.join("src")], false),
            (vec![root.parent().unwrap().to_owned()], false),
        ] {
            let others = &workspace.protection.writing;
            let (first, second) = (others.add_program(&writable), others.add_program(&writable));
            drop(first);
            assert_eq!(place(&workspace, "src/a.txt").is_some(), is_known, "{writable:?}");
            drop(second);
            assert!(place(&workspace, "src/a.txt").is_some(), "{writable:?}");
        }
    }

    #[test]
    fn lower_trust_marks_a_file_and_never_raises_its_trust() {
        let (_directory, workspace) = world();
        let path = workspace.resolve_path("src/a.txt").unwrap();
        for (trust, expected) in [
            (Trust::Full, Trust::Full),
            (Trust::User, Trust::User),
            (Trust::Low, Trust::Low),
            (Trust::Full, Trust::Low),
        ] {
            workspace.lower_trust(&path, trust).unwrap();
            let apart = workspace.examine_apart();
            apart.read(&path).unwrap();
            let expected = if workspace.keeps_marks() { expected } else { apart.least_read() };
            assert_eq!(apart.least_read(), expected, "{trust:?}");
        }
    }
}
