//! The author of a request, and the rights that decide which requests are answered.

use std::collections::BTreeSet;

use avocet_protocol::{ChatAddress, ClientRole, SenderId, fits};
use schemars::JsonSchema;
use serde::Serialize;

use crate::table::SocketMethod;
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

    /// Refuses a method that the role or the list of methods excludes.
    pub(crate) fn check_method(&self, method: &SocketMethod) -> Result<(), RpcError> {
        let name = method.name;
        if self.role < method.least {
            return Err(self.refusal(
                &format!("{name} needs the role {}, and its role is {}", method.least, self.role),
                "role",
            ));
        }
        let is_listed = self.methods.as_ref().is_none_or(|methods| methods.contains(name));
        if is_listed || method.is_basic() {
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
        let table = match sender.as_str().split_once(':') {
            Some(("client", name)) => format!("gateway.clients.{name}"),
            Some(("http", name)) => format!("http.tokens.{name}"),
            _ => "gateway.clients.NAME".to_owned(),
        };
        let message =
            format!("{sender} may not do this: {reason}; to permit it, set {key} in [{table}]");
        RpcError::new(RpcError::NOT_ALLOWED, message)
    }
}

/// Patterns of chats, in which `*` matches any characters. A pattern that matches a chat matches its
/// topics, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChatPatterns(Vec<String>);

impl ChatPatterns {
    /// The pattern of all chats.
    const ALL: &str = "*";

    /// Makes a list of patterns. The empty list matches no chat.
    #[must_use]
    pub fn new(patterns: Vec<String>) -> Self {
        Self(patterns)
    }

    /// Makes the pattern of all chats.
    #[must_use]
    pub fn all() -> Self {
        Self(vec![Self::ALL.to_owned()])
    }

    /// Returns `true` if every chat matches.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.0.iter().any(|pattern| pattern == Self::ALL)
    }

    /// Returns `true` if the chat matches.
    #[must_use]
    pub fn reach(&self, chat: &ChatAddress) -> bool {
        let (topic, whole) = (chat.to_string(), chat.whole_chat().to_string());
        self.0.iter().any(|pattern| fits(pattern, &topic) || fits(pattern, &whole))
    }

    /// Returns `true` if every chat of an account matches, because a pattern is `*`, `channel:*` or
    /// `channel:account:*`.
    pub(crate) fn reach_account(&self, channel: &str, account: &str) -> bool {
        let wide = [format!("{channel}:*"), format!("{channel}:{account}:*")];
        self.are_all() || self.0.iter().any(|pattern| wide.contains(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_compares_a_chat_and_its_topic_with_each_pattern() {
        let table: [(&[&str], &str, bool); 11] = [
            (&[], "terminal:local:a", false),
            (&["*"], "terminal:local:a", true),
            (&["terminal:local:a"], "terminal:local:a", true),
            (&["terminal:local:a"], "terminal:local:ab", false),
            (&["terminal:local:a*"], "terminal:local:ab", true),
            (&["telegram:bot:*"], "telegram:bot:-5:7", true),
            (&["telegram:bot:*"], "telegram:bots:5", false),
            (&["telegram:bot:-5"], "telegram:bot:-5:7", true),
            (&["telegram:bot:-5:7"], "telegram:bot:-5", false),
            (&["telegram:bot:-5:7"], "telegram:bot:-5:8", false),
            (&["x:y:z", "discord:*"], "discord:main:1", true),
        ];
        for (patterns, chat, expected) in table {
            let chats = ChatPatterns::new(patterns.iter().map(ToString::to_string).collect());
            assert_eq!(chats.reach(&chat.parse().unwrap()), expected, "{patterns:?} {chat}");
        }
    }

    #[test]
    fn reach_account_needs_a_pattern_for_all_its_chats() {
        for (pattern, expected) in [
            ("*", true),
            ("external:*", true),
            ("external:irc:*", true),
            ("external:irc:#*", false),
            ("external:i*", false),
            ("external:irc:a", false),
        ] {
            let chats = ChatPatterns::new(vec![pattern.to_owned()]);
            assert_eq!(chats.reach_account("external", "irc"), expected, "{pattern}");
        }
    }
}
