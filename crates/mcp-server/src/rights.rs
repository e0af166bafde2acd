//! The tools and resources that a client may use: those whose methods its role has.

use std::collections::BTreeSet;

use avocet_gateway::{Hello, Touches, find_method};
use avocet_protocol::access::ClientRole;
use serde::Deserialize;
use serde_json::json;

use crate::host::{MethodError, SocketMethods};

/// The answer to `hello`.
#[derive(Debug, Deserialize)]
struct HelloAnswer {
    role: ClientRole,
    chats: Vec<String>,
    methods: Option<BTreeSet<String>>,
}

/// The methods that a client may call. The daemon checks each call again.
#[derive(Debug)]
pub(crate) struct ClientRights(HelloAnswer);

impl ClientRights {
    pub(crate) async fn fetch_rights(methods: &dyn SocketMethods) -> Result<Self, MethodError> {
        let answer = methods.call::<Hello>(json!({})).await?;
        let answer = serde_json::from_value(answer).map_err(|error| {
            MethodError::Lost(format!("the rights of this client cannot be read: {error}"))
        })?;
        Ok(Self(answer))
    }

    /// Returns `true` if the client may call the method for some chat.
    pub(crate) fn allow(&self, name: &str) -> bool {
        let HelloAnswer { role, chats, methods } = &self.0;
        let Some(method) = find_method(name) else {
            return false;
        };
        let is_limited = !chats.iter().any(|chat| chat == "*");
        *role >= method.least
            && methods.as_ref().is_none_or(|methods| methods.contains(name))
            && !(is_limited && matches!(method.touches, Touches::Everything))
    }
}
