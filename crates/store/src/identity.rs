//! Whether a file is still the one that this process has open.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use avocet_protocol::StoreError;

/// A file by its device and inode: its name can come to mean another file while it is open.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// [`StoreError::Replaced`] if the name now leads to no file or to another one. A file that cannot be looked at
    /// for another reason counts as the same: reading or writing it says what is wrong.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let found = match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => return Ok(()),
            Ok(_) => "another file is there".to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => "no file is there".to_owned(),
            Err(_) => return Ok(()),
        };
        Err(StoreError::Replaced { path: self.path.display().to_string(), found })
    }
}
