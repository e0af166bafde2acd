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
