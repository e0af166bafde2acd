//! The socket, and a task for each connection.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use avocet_supervise::Group;
use tokio::net::{UnixListener, UnixStream};

use crate::caller::Caller;
use crate::clients::{Clients, Peer};
use crate::connection::{self, ConnectionOrigin, NewConnection};
use crate::gateway_error::GatewayError;
use crate::named_subscriptions::NamedSubscriptions;
use crate::parts::GatewayParts;
use crate::places::{CONNECTIONS, ConnectionPlaces};
use crate::socket_place::{SocketPlace, check_unused};
use crate::wire::RpcError;

/// The pause after a connection that could not be accepted.
const AFTER_ERROR: Duration = Duration::from_millis(100);

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
        check_unused(path)
    }

    /// Checks the socket's directory, and that no other process listens there. Called before a
    /// daemon starts its work.
    ///
    /// # Errors
    /// [`GatewayError`] names the obstacle and the remedy.
    pub fn check_place(place: &SocketPlace) -> Result<(), GatewayError> {
        place.own_directory()?;
        Self::check_unused(&place.path)
    }

    /// Opens the socket. Connections are served until the group is cancelled.
    ///
    /// # Errors
    /// [`GatewayError`] names the obstacle and the remedy.
    pub fn open(
        place: &SocketPlace,
        clients: Clients,
        parts: GatewayParts,
        group: &Group,
    ) -> Result<Self, GatewayError> {
        let group = group.child_group("gateway");
        let listener = place.listen()?;
        let (clients, parts) = (Arc::new(clients), Arc::new(parts));
        group.spawn("accept", accept(listener, clients, parts, group.clone()));
        Ok(Self { path: place.path.clone(), group })
    }

    /// Stops accepting connections and closes the open ones.
    pub fn close(&self) {
        self.group.cancel_tasks();
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "the socket was gone already");
        }
    }
}

async fn accept(
    listener: UnixListener,
    clients: Arc<Clients>,
    parts: Arc<GatewayParts>,
    group: Group,
) {
    let stop = group.cancel_token();
    let places = ConnectionPlaces::new(parts.clock.clone(), CONNECTIONS);
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
        let place = match places.take_place() {
            Ok(place) => place,
            Err(full) => {
                tracing::debug!(%full, "a connection was refused");
                let refusal = RpcError::new(RpcError::UNAVAILABLE, full.to_string());
                connection::refuse(&stream, refusal);
                continue;
            }
        };
        let (clients, subscriptions) = (clients.clone(), subscriptions.clone());
        let (reader, writer) = stream.into_split();
        let origin = ConnectionOrigin::Socket(clients, peer);
        let new = NewConnection { reader, writer, origin, caller, place, subscriptions };
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
    Ok((peer, clients.admit_connection(peer)?))
}

#[cfg(test)]
#[path = "server_tests.rs"]
pub(crate) mod tests;
