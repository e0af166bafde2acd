//! The reasons why there is no socket.

use std::io;
use std::path::PathBuf;

/// The longest path of a socket: `sun_path` of unix(7), with its end.
pub(crate) const MAX_PATH_BYTES: usize = 107;

/// The reason why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The path is longer than the system allows.
    #[error(
        "the socket's path {path} is {length} bytes long; at most {MAX_PATH_BYTES} are possible. \
            Set a shorter one: [gateway] socket"
    )]
    TooLong {
        /// The path in the configuration, or the default one.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// Users other than the daemon's could reach the socket.
    #[error(
        "the socket's directory {path} is open to others (mode {mode:03o}); chmod 700 it, or set \
         another one: [gateway] socket"
    )]
    Open {
        /// The directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The members of the group cannot enter a directory on the way to the socket.
    #[error(
        "members of the group {group} cannot enter {path}; set a socket in a directory that they can \
         reach, such as /run/avocet/avocet.sock: [gateway] socket"
    )]
    Closed {
        /// The directory.
        path: PathBuf,
        /// The name of the group.
        group: String,
    },
    /// The system does not let the daemon give a file to the group.
    #[error(
        "cannot give {path} to the group {group} ({error}); the daemon's user must be a member of \
         the group"
    )]
    Group {
        /// The socket, or its directory.
        path: PathBuf,
        /// The name of the group.
        group: String,
        /// The system's error.
        error: io::Error,
    },
    /// A process listens there.
    #[error("another process listens on {0}; stop it, or set another socket: [gateway] socket")]
    InUse(PathBuf),
    /// The system refused.
    #[error("cannot create the socket {path} ({error}); check its directory")]
    Refused {
        /// The socket, or its directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
