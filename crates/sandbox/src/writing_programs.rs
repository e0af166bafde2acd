//! The directories that running programs may change. An editor must not open a file there by its
//! path, because such a program could put a link into the path first.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The directories of all running programs, one entry for each program and directory.
#[derive(Debug, Default)]
pub(crate) struct WritingPrograms(Mutex<Vec<PathBuf>>);

/// A running program. Its directories count until this is dropped.
#[derive(Debug)]
pub(crate) struct WritingProgram<'a> {
    all: &'a WritingPrograms,
    directories: &'a [PathBuf],
}

impl WritingPrograms {
    /// Adds a program that is about to start.
    pub(crate) fn add_program<'a>(&'a self, directories: &'a [PathBuf]) -> WritingProgram<'a> {
        let mut all = self.0.lock();
        all.extend_from_slice(directories);
        WritingProgram { all: self, directories }
    }

    /// Returns `true` if a running program may change a part of this directory.
    pub(crate) fn can_change(&self, root: &Path) -> bool {
        let all = self.0.lock();
        all.iter().any(|directory| root.starts_with(directory) || directory.starts_with(root))
    }
}

impl Drop for WritingProgram<'_> {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        for directory in self.directories {
            if let Some(place) = all.iter().position(|one| one == directory) {
                all.swap_remove(place);
            }
        }
    }
}
