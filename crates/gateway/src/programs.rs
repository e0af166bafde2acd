//! Programs that the daemon has started as its children. Each serves the chats of one account, over
//! its standard input and output.

use std::sync::Arc;

use avocet_supervise::Group;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::{self, ConnectionOrigin, NewConnection};
use crate::named_subscriptions::NamedSubscriptions;
use crate::parts::GatewayParts;
use crate::places::{CONNECTIONS, ConnectionPlaces};
use crate::running_program::RunningProgram;

/// The daemon's end of the standard streams of a program.
#[derive(Debug)]
pub struct ChildConnection<R, W> {
    /// The output of the program.
    pub stdout: R,
    /// The input of the program. It is closed after the end of the connection.
    pub stdin: W,
    /// Has the rights of the connection.
    pub program: Arc<RunningProgram>,
}

/// Serves the programs that the daemon has started.
#[derive(Debug, Clone)]
pub struct Programs {
    parts: Arc<GatewayParts>,
    places: Arc<ConnectionPlaces>,
    subscriptions: Arc<NamedSubscriptions>,
}

impl Programs {
    /// Makes the server for programs.
    #[must_use]
    pub fn new(parts: GatewayParts) -> Self {
        let places = ConnectionPlaces::new(parts.clock.clone(), CONNECTIONS);
        Self { parts: Arc::new(parts), places, subscriptions: Arc::default() }
    }

    /// Shared by the connections of all programs.
    #[must_use]
    pub fn parts(&self) -> &Arc<GatewayParts> {
        &self.parts
    }

    /// Serves a program until its output ends, or the group is cancelled. Open requests continue in
    /// the group until they are answered; then the input of the program is closed.
    pub async fn serve<R, W>(&self, child: ChildConnection<R, W>, group: &Group)
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let ChildConnection { stdout, stdin, program } = child;
        let place = match self.places.take_place() {
            Ok(place) => place,
            Err(full) => {
                tracing::warn!(account = program.account, %full, "the program is not served");
                return;
            }
        };
        let new = NewConnection {
            reader: stdout,
            writer: stdin,
            origin: ConnectionOrigin::Child(program),
            caller: None,
            place,
            subscriptions: self.subscriptions.clone(),
        };
        connection::serve(new, &self.parts, group).await;
    }
}

#[cfg(test)]
#[path = "programs_tests.rs"]
pub(crate) mod tests;
