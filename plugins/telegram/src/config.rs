//! The configuration of a Telegram bot.

use std::collections::BTreeMap;

use avocet_channel_kit::GroupConfig;
use avocet_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// A Telegram bot. Several have a table each: `[channels.telegram.work]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelegramConfig {
    /// The bot's token, from @BotFather. Best not written here but referred to:
    /// `"${TELEGRAM_TOKEN}"`.
    pub token: Option<Secret>,
    /// Where the Bot API is; can point at a local server.
    pub api_url: String,
    /// Who may speak: numeric user ids. Empty means nobody but the owners, and whoever was let in; the
    /// log names whoever is turned away.
    pub allow: Vec<u64>,
    /// Who is an owner: has every tool, and lets others in. They need not be named in `allow`.
    pub owners: Vec<u64>,
    /// Whether a stranger who writes in private is given a code with which an owner can let them in.
    pub pairing: bool,
    /// What is different in a group, by its id. One that becomes a supergroup keeps the id that it had,
    /// unless its new one is named here: then it is a chat of its own.
    pub groups: BTreeMap<String, GroupConfig>,
    /// Whether an answer that takes several messages has them numbered: `(1/3)`.
    pub numbered: bool,
    /// Seconds that a poll for updates stays open, 1 to 50.
    pub poll_seconds: u32,
    /// Seconds between two edits of the message that grows while the model writes; 0: nothing is
    /// shown before it is complete.
    pub preview_seconds: u32,
}

impl Default for TelegramConfig {
    fn default() -> Self {
        Self {
            token: None,
            api_url: "https://api.telegram.org".to_owned(),
            allow: Vec::new(),
            owners: Vec::new(),
            pairing: true,
            groups: BTreeMap::new(),
            numbered: false,
            poll_seconds: 50,
            preview_seconds: 1,
        }
    }
}
