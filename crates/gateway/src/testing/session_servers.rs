//! Servers of sessions, of which only those with a command start.

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::session::{
    SESSION_SERVER_PREFIX, SessionServer, SessionServerStart, SessionServers,
};
use tokio_util::sync::CancellationToken;

use super::FakeDaemon;

/// The servers that a client has given to a session.
#[derive(Debug)]
pub struct GivenServers {
    /// The session.
    pub session: SessionId,
    /// The servers.
    pub servers: Vec<SessionServer>,
    /// Fires with the end of the connection.
    pub ended: CancellationToken,
}

#[async_trait]
impl SessionServers for FakeDaemon {
    async fn give_to_session(
        &self,
        session: SessionId,
        servers: Vec<SessionServer>,
        ended: CancellationToken,
    ) -> Vec<SessionServerStart> {
        let start = |server: &SessionServer| SessionServerStart {
            name: server.name.clone(),
            server: format!("{SESSION_SERVER_PREFIX}{}", server.name),
            error: server.command.is_none().then(|| "it does not answer".to_owned()),
        };
        let started = servers.iter().map(start).collect();
        self.given.lock().push(GivenServers { session, servers, ended });
        started
    }
}
