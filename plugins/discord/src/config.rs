//! The configuration of a Discord bot.

use std::collections::BTreeMap;

use avocet_channel_kit::GroupConfig;
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// A Discord bot. Several have a table each: `[channels.discord.work]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiscordConfig {
    /// The bot's token, from the developer portal (your application, Bot). Best not written here but
    /// referred to: `"${DISCORD_TOKEN}"`.
    pub token: Option<Secret>,
    /// Where the REST API is, without its version; can point at a local server. The gateway's address
    /// is asked from it.
    pub api_url: String,
    /// Who may speak: numeric user ids. Empty means nobody but the owners, and whoever was let in; the
    /// log names whoever is turned away.
    pub allow: Vec<u64>,
    /// Who is an owner: has every tool, and lets others in. They need not be named in `allow`.
    pub owners: Vec<u64>,
    /// Whether a stranger who writes in private is given a code with which an owner can let them in.
    pub pairing: bool,
    /// What is different in a server's channel and its threads, by the channel's id.
    pub groups: BTreeMap<String, GroupConfig>,
    /// Whether an answer that takes several messages has them numbered: `(1/3)`.
    pub numbered: bool,
    /// Whether every message in a server's channels is answered, not only those that mention the bot,
    /// reply to it or begin with a command.
    pub answer_all: bool,
    /// Whether the bot reads messages in a server's channels that do not mention it. Discord has to
    /// allow it: developer portal, Bot, Message Content Intent.
    pub message_content: bool,
    /// Seconds between two edits of the message that grows while the model writes; 0: nothing is
    /// shown before it is complete. Discord takes five in five seconds.
    pub preview_seconds: u32,
}

impl DiscordConfig {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the expected value. The token is not shown.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        const PORTAL: &str = "the developer portal (your application, Bot)";
        match self.token.as_ref().map(Secret::expose) {
            Some("") => Err(("token", format!("it is empty; get a token from {PORTAL}"))),
            Some(token) if !is_token(token) => {
                let error = "it has characters that no token of a bot has: copy it again from";
                Err(("token", format!("{error} {PORTAL}")))
            }
            _ => Ok(()),
        }
    }
}

/// Returns `true` if a text has the form of a token (Discord API, "Authentication").
fn is_token(token: &str) -> bool {
    let token = token.trim();
    let token = token.strip_prefix("Bot ").unwrap_or(token);
    !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic())
}

impl Default for DiscordConfig {
    fn default() -> Self {
        Self {
            token: None,
            api_url: "https://discord.com".to_owned(),
            allow: Vec::new(),
            owners: Vec::new(),
            pairing: true,
            groups: BTreeMap::new(),
            numbered: false,
            answer_all: false,
            message_content: true,
            preview_seconds: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_refuses_an_invalid_token_without_showing_it() {
        let check = |token: &str| {
            let token = Some(Secret::new(token.to_owned()));
            DiscordConfig { token, ..DiscordConfig::default() }.check()
        };
        for token in ["a.b.c", "MTIz.secret.token", " Bot a.b.c "] {
            assert_eq!(check(token), Ok(()), "{token}");
        }
        for token in ["", "bot 12345", "a.b c", "a.b\u{e9}"] {
            let (key, error) = check(token).unwrap_err();
            assert!(key == "token" && (token.is_empty() || !error.contains(token)), "{error}");
        }
    }
}
