//! The configuration of a Discord bot.

mod channel;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use avocet_channel_kit::GroupConfig;
use avocet_protocol::access::Role;
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serenity::model::id::RoleId;

use crate::discord::threads::Threads;
use crate::error::DiscordError;

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
    /// The proxy for all connections to Discord, those of the gateway too:
    /// `socks5h://USER:PASSWORD@HOST:PORT`, with which the proxy resolves host names, or `socks5://`
    /// or `http://`. Refer to a password instead of writing it here: `"${DISCORD_PROXY}"`. Default:
    /// none.
    pub proxy: Option<Secret>,
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
    /// Settings of single servers, by server id.
    pub servers: BTreeMap<String, ServerConfig>,
    /// `true` to number the messages of an answer that needs several: `(1/3)`. Default: `false`.
    pub numbered: bool,
    /// `true` to answer every message in a server's channels. With `false`, only messages that
    /// mention the bot, reply to it or begin with a command are answered. Default: `false`.
    pub answer_all: bool,
    /// `"auto"` to make a thread for each message that mentions the bot in a server's channel. The
    /// answer goes there, and each thread is a conversation of its own. Default: `"off"`.
    pub threads: Threads,
    /// `false` to answer every message in threads in which the bot has written. Default: `true`.
    pub thread_mention: bool,
    /// Number of earlier messages of a server's channel that the model gets with a mention, at most
    /// 50. They are untrusted. Default: 20.
    pub earlier_messages: u32,
    /// The emoji with which the bot reacts to a message that it has received, for example "👀"; it is
    /// removed with the answer. Own emojis of a server are written as `name:id`. Default: `""`, no
    /// reaction.
    pub reaction_received: String,
    /// The emoji with which the bot reacts to a message that it has answered. Default: `""`, no
    /// reaction.
    pub reaction_done: String,
    /// The emoji with which the bot reacts to a message whose answer failed. Default: `""`, no
    /// reaction.
    pub reaction_failed: String,
    /// `true` to offer the slash commands also to people who have installed the bot for themselves, in
    /// all their chats. Discord has to permit it: developer portal, Installation, User Install. Only
    /// the caller sees the answers there. Default: `false`.
    pub user_install: bool,
    /// `true` to notify the asker of a question, and of an answer to a message that is older than two
    /// minutes. What a scheduled task or a job says in a channel mentions its asker. No one else is
    /// notified. Default: `false`.
    pub ping: bool,
    /// `true` to show everyone, as the bot's status, if it is ready, working, or failed with its last
    /// answer. Default: `false`.
    pub presence: bool,
    /// `true` to read messages in a server's channels that do not mention the bot. Discord has to
    /// permit it: developer portal, Bot, Message Content Intent. Default: `true`.
    pub message_content: bool,
    /// Seconds between two edits of the preview, the message that grows while the model writes. 0
    /// turns the preview off, so that only complete messages are shown. Discord permits five edits
    /// in five seconds. Default: 1.
    pub preview_seconds: u32,
}

/// Settings of a server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Numeric ids of roles. Their members have access in the channels of this server. Default: `[]`.
    pub allow_roles: Vec<u64>,
    /// Numeric ids of roles. Their members are owners in the channels of this server; their own tools
    /// need `owner_tools` there. Default: `[]`.
    pub owner_roles: Vec<u64>,
}

impl DiscordConfig {
    /// Returns the roles that give access. Discord's ids of roles are unique over all servers.
    ///
    /// # Errors
    /// [`DiscordError::Server`] for a malformed id.
    pub(crate) fn roles(&self) -> Result<BTreeMap<RoleId, Role>, DiscordError> {
        let mut roles = BTreeMap::new();
        for (server, ServerConfig { allow_roles, owner_roles }) in &self.servers {
            let malformed = |id: &str| DiscordError::Server(id.to_owned());
            server.parse::<NonZeroU64>().map_err(|_| malformed(server))?;
            let users = allow_roles.iter().map(|id| (id, Role::User));
            // An owner's role wins.
            for (id, role) in users.chain(owner_roles.iter().map(|id| (id, Role::Owner))) {
                let id = NonZeroU64::new(*id).ok_or_else(|| malformed(server))?;
                roles.insert(RoleId::from(id), role);
            }
        }
        Ok(roles)
    }
}

impl Default for DiscordConfig {
    fn default() -> Self {
        Self {
            token: None,
            api_url: "https://discord.com".to_owned(),
            proxy: None,
            allow: Vec::new(),
            owners: Vec::new(),
            pairing: true,
            groups: BTreeMap::new(),
            servers: BTreeMap::new(),
            numbered: false,
            answer_all: false,
            threads: Threads::Off,
            thread_mention: true,
            earlier_messages: 20,
            reaction_received: String::new(),
            reaction_done: String::new(),
            reaction_failed: String::new(),
            ping: false,
            presence: false,
            user_install: false,
            message_content: true,
            preview_seconds: 1,
        }
    }
}
