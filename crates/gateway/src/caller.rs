//! The author of a request, and the rights that decide which requests are answered.

use std::collections::BTreeSet;

use avocet_methods::{ChatPatterns, MethodDescription};
use avocet_protocol::access::ClientRole;
use avocet_protocol::ids::SenderId;

use crate::wire::RpcError;

/// The author of a request, with its rights. The sender is logged with every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `uid:N` for a user of the system, `client:NAME` for a configured client.
    pub sender: SenderId,
    /// The role, which decides the methods.
    pub role: ClientRole,
    /// The chats that the client reaches.
    pub chats: ChatPatterns,
    /// The only methods that the client may call; `None` for all methods of its role.
    pub methods: Option<BTreeSet<String>>,
}

impl Caller {
    /// Makes an operator, who may call every method.
    #[must_use]
    pub fn operator(sender: SenderId) -> Self {
        Self { sender, role: ClientRole::Operator, chats: ChatPatterns::all(), methods: None }
    }

    /// Returns `true` for a program that the daemon has started for a channel.
    pub(crate) fn is_program(&self) -> bool {
        self.sender.as_str().starts_with("program:")
    }

    /// Refuses a method that the role or the list of methods excludes.
    pub(crate) fn check_method(&self, method: &MethodDescription) -> Result<(), RpcError> {
        let name = method.name;
        if self.role < method.least {
            return Err(self.refusal(
                &format!("{name} needs the role {}, and its role is {}", method.least, self.role),
                "role",
            ));
        }
        let is_listed = self.methods.as_ref().is_none_or(|methods| methods.contains(name));
        if is_listed || method.is_open_to_all {
            return Ok(());
        }
        Err(self.refusal(&format!("{name} is not in its list of methods"), "methods"))
    }

    /// Refuses a method for a reason. `key` is the setting that permits the method.
    pub(crate) fn refusal(&self, reason: &str, key: &str) -> RpcError {
        let sender = &self.sender;
        if let Some(("program", account)) = sender.as_str().split_once(':') {
            let message = format!(
                "{sender} may not do this: {reason}; the program of a channel serves the chats of \
                 {account} only"
            );
            return RpcError::new(RpcError::NOT_ALLOWED, message);
        }
        let key =
            if sender.as_str().starts_with("mcp:") && key == "role" { "mcp_role" } else { key };
        let table = match sender.as_str().split_once(':') {
            Some(("client", name)) => format!("gateway.clients.{name}"),
            Some(("http" | "mcp", name)) => format!("http.tokens.{name}"),
            _ => "gateway.clients.NAME".to_owned(),
        };
        let message =
            format!("{sender} may not do this: {reason}; to permit it, set {key} in [{table}]");
        RpcError::new(RpcError::NOT_ALLOWED, message)
    }
}
