//! The configuration of a Discord bot.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_channel_kit::{BotAccess, GroupConfig};
use avocet_protocol::{AccountName, Allow, ChannelConfig, ChannelName, Clock, IdError, Secret};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Discord, DiscordError};

/// A Discord bot. For several bots, write a table for each: `[channels.discord.work]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiscordConfig {
    /// The bot's token, from the developer portal (your application, Bot). Refer to the token
    /// instead of writing it here: `"${DISCORD_TOKEN}"`.
    pub token: Option<Secret>,
    /// The base URL of the REST API, without its version; it may be that of a local server. It also
    /// supplies the address of the gateway. Default: `https://discord.com`.
    pub api_url: String,
    /// Numeric user ids of the people who have access. Owners, and people who were admitted later
    /// by pairing, need not be listed. The log names everyone who is refused. Default: `[]`.
    pub allow: Vec<u64>,
    /// Numeric user ids of the owners. An owner has every tool and can admit others; `allow` need
    /// not list owners. Default: `[]`.
    pub owners: Vec<u64>,
    /// `true` to send a pairing code to strangers who write in a private chat. An owner can admit
    /// them with this code. Default: `true`.
    pub pairing: bool,
    /// Settings of single channels of a server, with their threads, by channel id.
    pub groups: BTreeMap<String, GroupConfig>,
    /// `true` to number the messages of an answer that needs several: `(1/3)`. Default: `false`.
    pub numbered: bool,
    /// `true` to answer every message in a server's channels. With `false`, only messages that
    /// mention the bot, reply to it or begin with a command are answered. Default: `false`.
    pub answer_all: bool,
    /// `true` to read messages in a server's channels that do not mention the bot. Discord has to
    /// permit it: developer portal, Bot, Message Content Intent. Default: `true`.
    pub message_content: bool,
    /// Seconds between two edits of the preview, the message that grows while the model writes. 0
    /// turns the preview off, so that only complete messages are shown. Discord permits five edits
    /// in five seconds. Default: 1.
    pub preview_seconds: u32,
}

impl ChannelConfig for DiscordConfig {
    const NAME: &'static str = "discord";
    type Channel = Discord;
    type Error = DiscordError;

    fn check(&self) -> Result<(), (&'static str, String)> {
        const PORTAL: &str = "the developer portal (your application, Bot)";
        match self.token.as_ref().map(Secret::expose) {
            Some("") => Err(("token", format!("it is empty; get a token from {PORTAL}"))),
            Some(token) if !is_token(token) => {
                let error = "it has characters that a bot token cannot have: copy it again from";
                Err(("token", format!("{error} {PORTAL}")))
            }
            _ => Ok(()),
        }
    }

    fn allow(&self) -> Result<Allow, IdError> {
        let Self { allow, owners, groups, pairing, .. } = self;
        BotAccess { allow, owners, groups, pairing: *pairing }.rule()
    }

    fn channel(
        &self,
        name: ChannelName,
        account: AccountName,
        clock: Arc<dyn Clock>,
    ) -> Result<Discord, DiscordError> {
        Discord::new(name, account, self, clock)
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
