//! The place of the socket: its path, and the permissions of the socket and its directory.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::gateway_error::{GatewayError, MAX_PATH_BYTES};

/// Permission bits of the group and of others.
const NOT_OWNER: u32 = 0o077;
/// The mode of a directory that only its owner enters.
const OWN_DIRECTORY: u32 = 0o700;
/// The mode of a directory whose group may open what it knows the name of.
const GROUP_DIRECTORY: u32 = 0o710;

/// Decides who can reach the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketPlace {
    /// The path.
    pub path: PathBuf,
    /// The group whose members may connect; `None` if only the daemon's own user and root may.
    pub group: Option<SocketGroup>,
}

/// A group of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketGroup {
    /// Its name, for errors.
    pub name: String,
    /// Its id.
    pub gid: u32,
}

impl SocketPlace {
    /// Creates the socket and listens on it. A socket that a killed daemon left is replaced.
    pub(crate) fn listen(&self) -> Result<UnixListener, GatewayError> {
        let path = &self.path;
        let length = path.as_os_str().len();
        if length > MAX_PATH_BYTES {
            return Err(GatewayError::TooLong { path: path.clone(), length });
        }
        self.own_directory()?;
        let refused = |error| GatewayError::Refused { path: path.clone(), error };
        if path.exists() {
            check_unused(path)?;
            // The socket has no listener: a killed daemon left the file.
            fs::remove_file(path).map_err(refused)?;
        }
        let listener = UnixListener::bind(path).map_err(refused)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
        if self.group.is_some() {
            self.give(path, 0o660)?;
        }
        Ok(listener)
    }

    /// Ensures that the directory exists, and is closed to other users, except that the group may
    /// enter it.
    pub(crate) fn own_directory(&self) -> Result<(), GatewayError> {
        let directory = self.directory();
        let refused = |error| GatewayError::Refused { path: directory.to_owned(), error };
        let found = match fs::metadata(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut builder = fs::DirBuilder::new();
                builder.recursive(true).mode(OWN_DIRECTORY).create(directory).map_err(refused)?;
                fs::metadata(directory)
            }
            found => found,
        };
        let found = found.map_err(refused)?;
        let mode = found.mode() & 0o777;
        match &self.group {
            Some(group) if mode == GROUP_DIRECTORY && found.gid() == group.gid => {}
            Some(_) if mode & NOT_OWNER == 0 => self.give(directory, GROUP_DIRECTORY)?,
            None if mode & NOT_OWNER == 0 => {}
            _ => return Err(GatewayError::Open { path: directory.to_owned(), mode }),
        }
        self.check_way()
    }

    /// Checks that the group can reach the directory.
    fn check_way(&self) -> Result<(), GatewayError> {
        let Some(group) = &self.group else { return Ok(()) };
        let directory = self.directory();
        let directory = fs::canonicalize(directory)
            .map_err(|error| GatewayError::Refused { path: directory.to_owned(), error })?;
        for above in directory.ancestors().skip(1) {
            let Ok(found) = fs::metadata(above) else { continue };
            let is_open_to_group = found.gid() == group.gid && found.mode() & 0o010 != 0;
            if found.mode() & 0o001 == 0 && !is_open_to_group {
                let (path, group) = (above.to_owned(), group.name.clone());
                return Err(GatewayError::Closed { path, group });
            }
        }
        Ok(())
    }

    /// Gives a file of the daemon to the group.
    fn give(&self, path: &Path, mode: u32) -> Result<(), GatewayError> {
        let Some(group) = &self.group else { return Ok(()) };
        let given: io::Result<()> = (|| {
            chown(path, None, Some(group.gid))?;
            fs::set_permissions(path, Permissions::from_mode(mode))
        })();
        given.map_err(|error| GatewayError::Group {
            path: path.to_owned(),
            group: group.name.clone(),
            error,
        })
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// Checks that no process listens on the socket.
pub(crate) fn check_unused(path: &Path) -> Result<(), GatewayError> {
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(GatewayError::InUse(path.to_owned())),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
#[path = "socket_place_tests.rs"]
mod tests;
