//! Detects that the name of an open file now refers to another file.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use avocet_protocol::store::StoreError;

/// The device and inode of an open file.
#[derive(Debug, Clone)]
pub(crate) struct OpenFileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OpenFileIdentity {
    pub(crate) fn from_path(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    pub(crate) fn file_path(&self) -> &Path {
        &self.path
    }

    /// Fails with [`StoreError::Replaced`] if the file was deleted or replaced. Other errors are
    /// ignored here, because the next read or write reports them.
    pub(crate) fn check_identity(&self) -> Result<(), StoreError> {
        let found = match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => return Ok(()),
            Ok(_) => "another file is there".to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => "no file is there".to_owned(),
            Err(_) => return Ok(()),
        };
        Err(StoreError::Replaced { path: self.path.display().to_string(), found })
    }
}
