//! Directories that a person has marked as untrusted, with everything that is or will be in them.

use std::path::Path;

use rustix::fs::lgetxattr;

use crate::attributes::{MARK, TREE};

/// Returns `true` if a file or directory, or a directory above it up to `root`, is marked as
/// untrusted. `root` may be a place such as `/proc/self/fd/3`.
pub(crate) fn is_untrusted(root: &Path, below: &Path) -> bool {
    has_attribute(&root.join(below), MARK) || is_in_tree(root, below)
}

/// Returns `true` if a directory from `root` to this path is marked with everything in it.
pub(crate) fn is_in_tree(root: &Path, below: &Path) -> bool {
    below.ancestors().any(|above| is_tree(&root.join(above)))
}

/// Returns `true` if a directory is marked with everything in it.
pub(crate) fn is_tree(directory: &Path) -> bool {
    // A handle in `/proc` is a link to the directory; `.` follows it.
    has_attribute(&directory.join("."), TREE)
}

/// Returns `true` if a file has this attribute, with any value. A link is examined itself.
fn has_attribute(place: &Path, attribute: &str) -> bool {
    lgetxattr(place, attribute, &mut [0_u8; 8][..]).is_ok_and(|length| length > 0)
}
