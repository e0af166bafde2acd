//! `session.servers`: MCP servers that a client gives to a session, until its connection ends.

use avocet_protocol::{SessionId, SessionServer};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::connection::Connection;
use crate::methods;
use crate::values::{presentable, read};
use crate::wire::RpcError;

/// The most servers of a session.
const MOST_SERVERS: usize = 64;

/// The method's name.
pub(crate) const SESSION_SERVERS: &str = "session.servers";

/// The parameters. The result is a list of
/// [`SessionServerStart`](avocet_protocol::SessionServerStart).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GiveServers {
    session: SessionId,
    /// All servers of the session. An empty list takes its servers away.
    servers: Vec<SessionServer>,
}

impl Connection {
    /// Answers `session.servers`, once each server has started or failed.
    pub(crate) async fn give_servers(
        &self,
        caller: &Caller,
        params: Value,
    ) -> Result<Value, RpcError> {
        methods::permitted(&self.parts, caller, SESSION_SERVERS, &params).await?;
        let GiveServers { session, servers } = read(SESSION_SERVERS, params)?;
        if servers.len() > MOST_SERVERS {
            let message = format!(
                "{SESSION_SERVERS}: a session has at most {MOST_SERVERS} servers, and these are {}",
                servers.len()
            );
            return Err(RpcError::new(RpcError::PARAMS, message));
        }
        let chat = session.address();
        let linked = self.parts.access.links().into_iter().find(|link| link.chat == chat);
        let session = linked.map_or(session, |link| link.session);
        let given =
            self.parts.session_servers.give_to_session(session, servers, self.ended.clone());
        Ok(presentable(json!(given.await), &self.parts.redactor))
    }
}
