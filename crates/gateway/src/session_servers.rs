//! `session.servers`: MCP servers that a client gives to a session, until its connection ends.

use avocet_methods::{GiveServers, SocketMethod};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::connection::Connection;
use crate::methods::permitted_params;
use crate::values::make_presentable;
use crate::wire::RpcError;

/// The most servers of a session.
const MOST_SERVERS: usize = 64;

impl Connection {
    /// Answers `session.servers`, once each server has started or failed.
    pub(crate) async fn give_servers(
        &self,
        caller: &Caller,
        params: Value,
    ) -> Result<Value, RpcError> {
        let GiveServers { session, servers } =
            permitted_params::<GiveServers>(&self.parts, caller, params).await?;
        if servers.len() > MOST_SERVERS {
            let message = format!(
                "{}: a session has at most {MOST_SERVERS} servers, and these are {}",
                GiveServers::NAME,
                servers.len()
            );
            return Err(RpcError::new(RpcError::PARAMS, message));
        }
        let chat = session.address();
        let linked = self.parts.access.links().into_iter().find(|link| link.chat == chat);
        let session = linked.map_or(session, |link| link.session);
        let given =
            self.parts.session_servers.give_to_session(session, servers, self.ended.clone());
        Ok(make_presentable(json!(given.await), &self.parts.redactor))
    }
}
