//! The configuration of a Telegram bot.

mod channel;

use std::collections::BTreeMap;

use avocet_channel_kit::GroupConfig;
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// A Telegram bot. For several bots, write a table for each: `[channels.telegram.work]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelegramConfig {
    /// The bot's token, from @BotFather. Refer to the token instead of writing it here:
    /// `"${TELEGRAM_TOKEN}"`.
    pub token: Option<Secret>,
    /// The base URL of the Bot API; it may be that of a local server. Default:
    /// `https://api.telegram.org`.
    pub api_url: String,
    /// The proxy for all requests to the Bot API: `socks5h://USER:PASSWORD@HOST:PORT`, with which the
    /// proxy resolves host names, or `socks5://` or `http://`. Refer to a password instead of writing
    /// it here: `"${TELEGRAM_PROXY}"`. Default: none.
    pub proxy: Option<Secret>,
    /// Numeric user ids of the people who have access. Owners, and people who were admitted later
    /// by pairing, need not be listed. A negative id admits everyone who writes as that channel, or
    /// as that group: its anonymous administrators. The log names everyone who is refused. Default:
    /// `[]`.
    pub allow: Vec<i64>,
    /// Numeric user ids of the owners. An owner has every tool and can admit others; `allow` need
    /// not list owners. Default: `[]`.
    pub owners: Vec<u64>,
    /// `true` to send a pairing code to strangers who write in a private chat. An owner can admit
    /// them with this code. Default: `true`.
    pub pairing: bool,
    /// Settings of single groups, by group id. A group that becomes a supergroup keeps its old id.
    /// If its new id is listed here, it is a chat of its own instead.
    pub groups: BTreeMap<String, GroupConfig>,
    /// Number of earlier messages of a group that the model gets with a message for the bot, at most
    /// 50. They are untrusted. The bot receives them only with privacy mode off, or as an admin.
    /// Default: 20.
    pub earlier_messages: u32,
    /// `true` to number the messages of an answer that needs several: `(1/3)`. Default: `false`.
    pub numbered: bool,
    /// The emoji with which the bot reacts to a message that is not answered within a second; it is
    /// removed with the answer. `""` for no reaction. Default: `"👀"`.
    pub reaction_received: String,
    /// The emoji with which the bot reacts to a message that it has answered, such as "👍". Default:
    /// `""`, no reaction.
    pub reaction_done: String,
    /// The emoji with which the bot reacts to a message whose answer failed, such as "👎". Default:
    /// `""`, no reaction.
    pub reaction_failed: String,
    /// Seconds that a poll for updates stays open, from 1 to 50. With `webhook`: the seconds between
    /// two checks of the webhook. Default: 50.
    pub poll_seconds: u32,
    /// The public URL of the HTTP interface, such as `https://bus.example`. Telegram then posts
    /// updates to `/telegram/ACCOUNT` below it instead of being polled. This needs `[http]`, and a
    /// server with TLS in front. Default: none, which means polls.
    pub webhook: Option<String>,
    /// Seconds between two edits of the preview, the message that grows while the model writes. 0
    /// turns the preview off, so that only complete messages are shown. Default: 1.
    pub preview_seconds: u32,
    /// `true` to show a growing answer in a private chat as a draft, which Telegram animates, instead of
    /// a message that is edited. Needs a server with Bot API 9.5; with an older one, the answer is a
    /// message. Default: `true`.
    pub drafts: bool,
    /// `true` to send a table as one that Telegram shows itself, if the answer is one message. Needs a
    /// server with Bot API 10.2; with an older one, tables are text. Old apps of Telegram show a request
    /// to update instead of the message. Default: `false`.
    pub rich_tables: bool,
}

impl Default for TelegramConfig {
    fn default() -> Self {
        Self {
            token: None,
            api_url: "https://api.telegram.org".to_owned(),
            proxy: None,
            allow: Vec::new(),
            owners: Vec::new(),
            pairing: true,
            groups: BTreeMap::new(),
            earlier_messages: 20,
            numbered: false,
            reaction_received: "👀".to_owned(),
            reaction_done: String::new(),
            reaction_failed: String::new(),
            poll_seconds: 50,
            webhook: None,
            preview_seconds: 1,
            drafts: true,
            rich_tables: false,
        }
    }
}
