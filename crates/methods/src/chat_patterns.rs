//! The chats that a client reaches.

use avocet_protocol::chat::ChatAddress;
use avocet_text::fits_pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Patterns of chats, in which `*` matches any characters. A pattern that matches a chat matches its
/// topics, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub fn includes_chat(&self, chat: &ChatAddress) -> bool {
        let (topic, whole) = (chat.to_string(), chat.whole_chat().to_string());
        self.0.iter().any(|pattern| fits_pattern(pattern, &topic) || fits_pattern(pattern, &whole))
    }

    /// Returns `true` if every chat of an account matches, because a pattern is `*`, `channel:*` or
    /// `channel:account:*`.
    #[must_use]
    pub fn reach_account(&self, channel: &str, account: &str) -> bool {
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
            assert_eq!(
                chats.includes_chat(&chat.parse().unwrap()),
                expected,
                "{patterns:?} {chat}"
            );
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
