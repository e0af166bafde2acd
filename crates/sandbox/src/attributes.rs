//! The extended attributes that hold the trust of files.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use avocet_protocol::access::Trust;
use cap_std::fs::{Dir, Permissions, PermissionsExt};
use rustix::fs::{XattrFlags, removexattr, setxattr};
use rustix::io::Errno;

/// The attribute with the trust of a file, `low` or `user`. A file without it has the owners' full
/// trust.
pub(crate) const MARK: &str = "user.avocet.trust";
/// The attribute of a directory in which everything is untrusted. Its value is `low`.
pub(crate) const TREE: &str = "user.avocet.tree";
/// An attribute that is set and removed to test whether attributes work.
const PROBE: &str = "user.avocet.probe";

/// Returns the value of [`MARK`]; `None` for full trust, which has no mark.
pub(crate) fn mark_value(trust: Trust) -> Option<&'static [u8]> {
    match trust {
        Trust::Low | Trust::User => Some(trust.as_str().as_bytes()),
        Trust::Full => None,
    }
}

/// Changes an attribute of an entry of a directory. Without write permission, as on files that git
/// makes, adds the permission for a moment.
pub(crate) fn with_write_permission(
    directory: &Dir,
    name: &OsStr,
    change: impl Fn() -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    match change() {
        Err(Errno::ACCESS) => {
            let mode = directory.symlink_metadata(name).map_err(errno)?.permissions().mode();
            let set =
                |mode| directory.set_permissions(name, Permissions::from_mode(mode)).map_err(errno);
            set(mode | 0o200)?;
            let changed = change();
            set(mode)?;
            changed
        }
        changed => changed,
    }
}

/// Fails if the file system of a directory keeps no attributes.
pub(crate) fn probe_attributes(directory: &Dir) -> rustix::io::Result<()> {
    let place = place_of(directory);
    setxattr(&place, PROBE, b"1", XattrFlags::empty())?;
    removexattr(&place, PROBE)
}

/// Returns a path that leads to something open: attributes are not always available through a
/// handle to a directory.
pub(crate) fn place_of(opened: &impl AsFd) -> PathBuf {
    handle_of(opened).join(".")
}

pub(crate) fn handle_of(opened: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()).into()
}
