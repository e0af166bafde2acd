//! The socket: its path, its permissions, and a task for each connection.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_supervise::Group;
use tokio::net::{UnixListener, UnixStream};

use crate::caller::Caller;
use crate::clients::{Clients, Peer};
use crate::connection::{self, NewConnection};
use crate::parts::GatewayParts;
use crate::places::Places;
use crate::subscribe::NamedSubscriptions;
use crate::wire::RpcError;

/// The pause after a connection that could not be accepted.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// The longest path of a socket: `sun_path` of unix(7), with its end.
const MAX_PATH_BYTES: usize = 107;

/// The reason why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The path is longer than the system allows.
    #[error(
        "the socket's path {path} is {length} bytes long; at most {MAX_PATH_BYTES} are possible. \
            Set a shorter one: [gateway] socket"
    )]
    TooLong {
        /// The path.
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

/// The open socket.
#[derive(Debug)]
pub struct Gateway {
    path: PathBuf,
    group: Group,
}

impl Gateway {
    /// Checks that no other process listens on the socket. Called before the log, which may belong
    /// to that process, is changed.
    ///
    /// # Errors
    /// [`GatewayError::InUse`] if a process listens.
    pub fn check_unused(path: &Path) -> Result<(), GatewayError> {
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => Err(GatewayError::InUse(path.to_owned())),
            Err(_) => Ok(()),
        }
    }

    /// Checks the socket's directory, and that no other process listens there. Called before a
    /// daemon starts its work.
    ///
    /// # Errors
    /// [`GatewayError`] names the obstacle and the remedy.
    pub fn check_place(path: &Path) -> Result<(), GatewayError> {
        own_directory(directory_of(path))?;
        Self::check_unused(path)
    }

    /// Opens the socket. Connections are served until the group is cancelled.
    ///
    /// # Errors
    /// [`GatewayError`] names the obstacle and the remedy.
    pub fn open(
        path: &Path,
        clients: Clients,
        parts: GatewayParts,
        group: &Group,
    ) -> Result<Self, GatewayError> {
        let group = group.child("gateway");
        let listener = listen(path)?;
        let (clients, parts) = (Arc::new(clients), Arc::new(parts));
        group.spawn("accept", accept(listener, clients, parts, group.clone()));
        Ok(Self { path: path.to_owned(), group })
    }

    /// Stops accepting connections and closes the open ones.
    pub fn close(&self) {
        self.group.cancel();
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "the socket was gone already");
        }
    }
}

fn listen(path: &Path) -> Result<UnixListener, GatewayError> {
    let length = path.as_os_str().len();
    if length > MAX_PATH_BYTES {
        return Err(GatewayError::TooLong { path: path.to_owned(), length });
    }
    own_directory(directory_of(path))?;
    let refused = |error| GatewayError::Refused { path: path.to_owned(), error };
    if path.exists() {
        Gateway::check_unused(path)?;
        // The socket has no listener: a killed daemon left the file.
        fs::remove_file(path).map_err(refused)?;
    }
    let listener = UnixListener::bind(path).map_err(refused)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(refused)?;
    Ok(listener)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Ensures that the directory exists and is closed to other users.
fn own_directory(directory: &Path) -> Result<(), GatewayError> {
    let refused = |error| GatewayError::Refused { path: directory.to_owned(), error };
    match fs::metadata(directory) {
        Ok(found) => match found.mode() & 0o777 {
            mode if mode & 0o077 == 0 => Ok(()),
            mode => Err(GatewayError::Open { path: directory.to_owned(), mode }),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(refused)
        }
        Err(error) => Err(refused(error)),
    }
}

async fn accept(
    listener: UnixListener,
    clients: Arc<Clients>,
    parts: Arc<GatewayParts>,
    group: Group,
) {
    let stop = group.token();
    let places = Places::new(parts.clock.clone());
    let subscriptions = Arc::<NamedSubscriptions>::default();
    for number in 0_u64.. {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to the socket; retrying");
                // An immediate retry would find as many files open.
                parts.clock.sleep(AFTER_ERROR).await;
                continue;
            }
        };
        let (peer, caller) = match admit(&stream, &clients) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                tracing::warn!(refusal, "a connection was refused");
                connection::refuse(&stream, RpcError::new(RpcError::NOT_ALLOWED, refusal));
                continue;
            }
        };
        let place = match places.take() {
            Ok(place) => place,
            Err(full) => {
                tracing::debug!(%full, "a connection was refused");
                let refusal = RpcError::new(RpcError::UNAVAILABLE, full.to_string());
                connection::refuse(&stream, refusal);
                continue;
            }
        };
        let (clients, subscriptions) = (clients.clone(), subscriptions.clone());
        let new = NewConnection { stream, clients, peer, caller, place, subscriptions };
        let (parts, connection_group) = (parts.clone(), group.clone());
        group.spawn(&format!("connection-{number}"), async move {
            connection::serve(new, &parts, &connection_group).await;
        });
    }
}

/// Asks the system which user the process at the other end belongs to, and looks up the user's
/// rights. The error tells others the reason of the refusal.
fn admit(stream: &UnixStream, clients: &Clients) -> Result<(Peer, Option<Caller>), String> {
    let credentials = stream
        .peer_cred()
        .map_err(|error| format!("cannot read the identity of the client: {error}"))?;
    let (uid, gid) = (credentials.uid(), credentials.gid());
    let peer = Peer { uid, gid, ours: rustix::process::geteuid().as_raw() };
    Ok((peer, clients.admit(peer)?))
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
