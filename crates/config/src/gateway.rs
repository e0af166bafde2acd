//! The settings of the socket, and of the programs that use it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use avocet_protocol::access::ClientRole;
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// Characters of the shortest token.
const SHORTEST_TOKEN: usize = 16;

/// The socket for other processes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayConfig {
    /// The Unix socket. Only the daemon's user can enter its directory, unless there is a `group`.
    /// Default: `run/avocet.sock` in the data directory.
    pub socket: Option<PathBuf>,
    /// The name of a group whose members may connect to the socket. Each of them also needs a table
    /// in `clients`. The socket then gets mode 0660 and its directory mode 0710, and `socket` has to
    /// be in a directory that the members can reach. Default: only the daemon's user and root.
    pub group: Option<String>,
    /// Other programs that may use the socket, by names of your choice. The daemon's own user and
    /// root need no table.
    pub clients: BTreeMap<String, GatewayClient>,
}

/// A program that may use the socket. Name its user, or give it a token; with both, it needs both.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayClient {
    /// The number of a user that the program may run as.
    pub uid: Option<u32>,
    /// The name of a user that the program may run as.
    pub user: Option<String>,
    /// The name of a group whose members may run the program. Members are read when the daemon
    /// starts.
    pub group: Option<String>,
    /// A secret of at least 16 characters that the program sends. Refer to the token instead of
    /// writing it here: `"${CI_TOKEN}"`.
    pub token: Option<Secret>,
    /// The rights of the program. Each role includes the ones before it. Default: `observer`.
    pub role: ClientRole,
    /// The chats that the program reaches: `telegram:bot:*`, `terminal:local:ci`. `*` matches any
    /// characters, and `["*"]` are all chats. Default: `[]`, no chat.
    pub chats: Vec<String>,
    /// The only methods of the socket that the program may call. Default: all methods of its role.
    pub methods: Option<Vec<String>>,
}

impl GatewayClient {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the reason, which hides secrets.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { uid, user, group, token, chats, .. } = self;
        if let Some(token) = token
            && token.expose().chars().count() < SHORTEST_TOKEN
        {
            let error = format!("the token is too short; use at least {SHORTEST_TOKEN} characters");
            return Err(("token", error));
        }
        if uid.is_none() && user.is_none() && group.is_none() && token.is_none() {
            let error = "the client has neither a user nor a token; set uid, user, group or token";
            return Err(("uid", error.to_owned()));
        }
        if chats.is_empty() {
            let error = "the client reaches no chat; list its chats: [\"terminal:local:*\"], or \
                [\"*\"] for all";
            return Err(("chats", error.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_the_missing_or_unusable_key() {
        let secret = |text: &str| Some(Secret::new(text.to_owned()));
        let client = |uid, token: Option<Secret>, chats: &[&str]| GatewayClient {
            uid,
            token,
            chats: chats.iter().map(ToString::to_string).collect(),
            ..GatewayClient::default()
        };
        let long = "0123456789abcdef";
        for (client, key) in [
            (client(Some(7), None, &["*"]), None),
            (client(None, secret(long), &["terminal:local:a"]), None),
            (client(None, None, &["*"]), Some("uid")),
            (client(None, secret("short"), &["*"]), Some("token")),
            (client(Some(7), None, &[]), Some("chats")),
        ] {
            let error = client.check().err();
            assert_eq!(error.as_ref().map(|(key, _)| *key), key, "{error:?}");
            assert!(error.is_none_or(|(_, error)| !error.contains("short\"")));
        }
    }
}
