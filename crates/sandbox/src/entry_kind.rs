//! The kind of an entry of a directory.

use cap_std::fs::Metadata;

/// Found out without opening the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file, with its size in bytes.
    File(u64),
    /// A symbolic link.
    Link,
    /// A file that stays closed and is not examined: see [`with_secret_rules`](crate::Workspace::with_secret_rules) and
    /// [`Shared`](crate::FileError::Shared).
    Secret,
    /// A pipe, a socket or a device.
    Other,
}

impl EntryKind {
    /// Returns the kind, whatever the name.
    pub(crate) fn from_metadata(found: &Metadata) -> Self {
        match found.file_type() {
            kind if kind.is_dir() => Self::Directory,
            kind if kind.is_file() => Self::File(found.len()),
            kind if kind.is_symlink() => Self::Link,
            _ => Self::Other,
        }
    }
}
