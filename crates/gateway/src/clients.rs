//! The programs that may use the socket: the daemon's own user, root, and the clients of the
//! configuration.

use std::collections::BTreeSet;

use avocet_methods::{ChatPatterns, Hello, PROTOCOL, Welcome};
use avocet_protocol::access::ClientRole;
use avocet_protocol::ids::{IdError, SenderId};
use avocet_text::Secret;
use sha2::{Digest, Sha256};

use crate::caller::Caller;
use crate::wire::RpcError;

/// Returns the rights of a caller, for the caller.
pub(crate) fn welcome_caller(caller: &Caller) -> Welcome {
    let Caller { sender, role, chats, methods } = caller.clone();
    Welcome { sender, role, chats, methods, protocol: PROTOCOL }
}

/// The client as which `avocet mcp serve` calls, if no other is named. Without a table of this name,
/// it is a sender that reaches its own chats.
pub const MCP_CLIENT: &str = "mcp";
/// The chats of an MCP client that no table names: the conversations that it names itself.
pub const MCP_CHATS: &str = "terminal:local:mcp-*";

/// Returns the rights of the MCP client without a table. Another model has written its texts, so they
/// count as those of a user.
fn default_mcp_caller() -> Option<Caller> {
    let sender = SenderId::parse(&format!("client:{MCP_CLIENT}")).ok()?;
    let chats = ChatPatterns::new(vec![MCP_CHATS.to_owned()]);
    Some(Caller { sender, role: ClientRole::Sender, chats, methods: None })
}

/// A client of the configuration: `[gateway.clients.NAME]`.
#[derive(Debug, Clone)]
pub struct NamedClient {
    caller: Caller,
    name: String,
    identity: ClientIdentity,
}

/// The proof that a process is a client. Of several proofs, all are needed.
#[derive(Debug, Clone, Default)]
pub struct ClientIdentity {
    /// The users; `None` for every user, who then needs the token.
    pub users: Option<SystemUsers>,
    /// `None` if the user is proof enough.
    pub token: Option<Secret>,
}

/// Users of the system, by their own ids and by the ids of their first groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is a list of ids of its name")]
pub struct SystemUsers {
    pub uids: BTreeSet<u32>,
    pub gids: BTreeSet<u32>,
}

impl NamedClient {
    /// Makes a client with its rights.
    ///
    /// # Errors
    /// [`IdError`] if the name cannot be part of a sender's id.
    pub fn new(
        name: &str,
        identity: ClientIdentity,
        role: ClientRole,
        chats: ChatPatterns,
        methods: Option<BTreeSet<String>>,
    ) -> Result<Self, IdError> {
        let sender = SenderId::parse(&format!("client:{name}"))?;
        let caller = Caller { sender, role, chats, methods };
        Ok(Self { caller, name: name.to_owned(), identity })
    }

    /// Returns `true` if the user alone proves the client.
    fn is_proved_by(&self, peer: Peer) -> bool {
        self.identity.token.is_none() && self.identity.users.is_some() && self.permits(peer)
    }

    /// Returns `true` if the user is none of the others that the client excludes.
    fn permits(&self, peer: Peer) -> bool {
        self.identity
            .users
            .as_ref()
            .is_none_or(|users| users.uids.contains(&peer.uid) || users.gids.contains(&peer.gid))
    }

    fn has_token(&self, token: &Secret) -> bool {
        let own = self.identity.token.as_ref();
        // The time of a comparison of digests reveals nothing about the token.
        own.is_some_and(|own| digest(own) == digest(token))
    }
}

fn digest(token: &Secret) -> [u8; 32] {
    Sha256::digest(token.expose().as_bytes()).into()
}

/// The process at the other end of a connection, according to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The daemon's user.
    pub(crate) ours: u32,
}

impl Peer {
    fn is_own(self) -> bool {
        self.uid == self.ours || self.uid == 0
    }
}

/// The clients of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Clients(Vec<NamedClient>);

impl Clients {
    /// Makes the list of clients.
    #[must_use]
    pub fn new(clients: Vec<NamedClient>) -> Self {
        Self(clients)
    }

    /// Returns the rights of a new connection. `None` if the process has to say `hello` first.
    ///
    /// # Errors
    /// The reason why the process can never get rights.
    pub(crate) fn admit_connection(&self, peer: Peer) -> Result<Option<Caller>, String> {
        let Peer { uid, ours, .. } = peer;
        if peer.is_own() {
            let sender =
                SenderId::parse(&format!("uid:{uid}")).map_err(|error| error.to_string())?;
            return Ok(Some(Caller::operator(sender)));
        }
        let mut proved = self.0.iter().filter(|client| client.is_proved_by(peer));
        match (proved.next(), proved.next()) {
            (Some(only), None) => Ok(Some(only.caller.clone())),
            (Some(_), Some(_)) => Ok(None),
            (None, _) if self.0.iter().any(|client| client.permits(peer)) => Ok(None),
            (None, _) => Err(format!(
                "user {uid} may not use this socket; it belongs to user {ours}. Run the command as \
                 that user, or name user {uid} in the configuration: [gateway.clients.NAME] uid = {uid}"
            )),
        }
    }

    /// Returns the rights of the named client.
    pub(crate) fn admit_named(&self, peer: Peer, hello: &Hello) -> Result<Caller, RpcError> {
        let Hello { client: name, token, .. } = hello;
        let is_named =
            |client: &&NamedClient| name.as_ref().is_none_or(|name| *name == client.name);
        let found = match token {
            Some(token) => {
                let found = self.0.iter().filter(is_named).find(|client| client.has_token(token));
                found.ok_or_else(|| self.unknown_token(name.as_deref()))?
            }
            None => {
                let found = self.0.iter().find(is_named);
                let is_mcp = name.as_deref() == Some(MCP_CLIENT) && peer.is_own();
                if let (None, Some(caller)) = (found, default_mcp_caller().filter(|_| is_mcp)) {
                    return Ok(caller);
                }
                found.ok_or_else(|| self.unknown_client(name.as_deref().unwrap_or_default()))?
            }
        };
        let (own, name) = (peer.is_own(), &found.name);
        if !own && token.is_none() && found.identity.token.is_some() {
            return Err(not_allowed(format!(
                "the client {name} needs its token: hello {{\"client\": {name:?}, \"token\": ...}}"
            )));
        }
        if !own && !found.permits(peer) {
            let uid = peer.uid;
            return Err(not_allowed(format!(
                "user {uid} is not the client {name}; to permit it, change uid, user or group in \
                 [gateway.clients.{name}]"
            )));
        }
        Ok(found.caller.clone())
    }

    /// The reason why a method is refused before `hello`.
    pub(crate) fn hello_first(&self, peer: Peer) -> RpcError {
        let uid = peer.uid;
        let proved = self.0.iter().filter(|client| client.is_proved_by(peer));
        let names: Vec<&str> = proved.map(|client| client.name.as_str()).collect();
        not_allowed(if names.is_empty() {
            format!(
                "user {uid} has to say hello with a token first: {{\"method\": \"hello\", \
                 \"params\": {{\"token\": ...}}}}; or name the user in the configuration: \
                 [gateway.clients.NAME] uid = {uid}"
            )
        } else {
            format!(
                "user {uid} is several clients; choose one first: {{\"method\": \"hello\", \
                 \"params\": {{\"client\": {:?}}}}}; there are {}",
                names[0],
                names.join(", ")
            )
        })
    }

    fn unknown_token(&self, name: Option<&str>) -> RpcError {
        let table = name.map_or("[gateway.clients.NAME]".to_owned(), |name| {
            format!("[gateway.clients.{name}]")
        });
        not_allowed(format!("the token is not that of a client; compare it with token in {table}"))
    }

    fn unknown_client(&self, name: &str) -> RpcError {
        not_allowed(format!(
            "there is no client {name:?}; add a table [gateway.clients.{name}] to the configuration"
        ))
    }
}

fn not_allowed(message: String) -> RpcError {
    RpcError::new(RpcError::NOT_ALLOWED, message)
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
