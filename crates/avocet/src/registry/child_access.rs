//! The access of programs in sandboxes that the operator has configured, such as channels in other
//! languages.

use std::path::{Path, PathBuf};

use avocet_net::OpenedHosts;

/// The access of a program. It also sees the programs and libraries of the system, and has a
/// private `/tmp`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChildAccess {
    /// Variables that are added to the environment of all programs, or replace some of it.
    pub(crate) environment: Vec<(String, String)>,
    /// Files and directories that it may read. A file here is visible even if its name means that
    /// it holds a secret.
    pub(crate) read: Vec<PathBuf>,
    /// Directories that it may change.
    pub(crate) write: Vec<PathBuf>,
    /// Hosts that it may reach; all others are closed.
    pub(crate) hosts: OpenedHosts,
}

impl ChildAccess {
    /// Returns the working directory: the first directory that the program may change, else `/tmp`.
    /// The sandbox shows directories under their real paths only.
    pub(crate) fn directory(&self) -> PathBuf {
        let first = self.write.first().map_or(Path::new("/tmp"), PathBuf::as_path);
        first.canonicalize().unwrap_or_else(|_| first.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_the_place_of_a_link() {
        let home = tempfile::TempDir::new().unwrap();
        let (place, link) = (home.path().join("place"), home.path().join("link"));
        std::fs::create_dir(&place).unwrap();
        std::os::unix::fs::symlink(&place, &link).unwrap();
        let write = vec![link, home.path().to_owned()];
        let access = ChildAccess { write, ..ChildAccess::default() };
        assert_eq!(access.directory(), place.canonicalize().unwrap());
    }
}
