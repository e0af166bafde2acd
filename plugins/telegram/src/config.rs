//! The configuration of a Telegram bot.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_channel_kit::{BotAccess, GroupConfig};
use avocet_protocol::{
    AccountName, Allow, BotForm, BotSetup, ChannelConfig, ChannelName, Clock, IdError, Webhook,
};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::reactions::is_reaction;
use crate::webhook::base_url;
use crate::{Telegram, TelegramError, bot_form, proxy};

/// The highest `earlier_messages`, so that a request stays small.
const MAX_EARLIER: u32 = 50;

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
    /// by pairing, need not be listed. The log names everyone who is refused. Default: `[]`.
    pub allow: Vec<u64>,
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
    /// The emoji with which the bot reacts to a message that it has received; it is removed with the
    /// answer. `""` for no reaction. Default: `"👀"`.
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

impl ChannelConfig for TelegramConfig {
    const NAME: &'static str = "telegram";
    const ACCESS_KEYS: &'static [&'static str] =
        &["allow", "owners", "pairing", "groups.*.allow", "groups.*.owner_tools"];
    const BOT: Option<BotForm> = Some(bot_form::BOT);
    type Channel = Telegram;
    type Error = TelegramError;

    fn check(&self) -> Result<(), (&'static str, String)> {
        let token = self.token.as_ref().map(Secret::expose);
        if token == Some("") {
            return Err(("token", "it is empty; get a token from @BotFather".to_owned()));
        }
        if token.is_some_and(|token| !is_token(token)) {
            let error = "it is not a bot token, which is a number, a colon and letters: copy it \
                again from @BotFather";
            return Err(("token", error.to_owned()));
        }
        if let Some(Err(error)) = self.proxy.as_ref().map(proxy::parse_proxy) {
            return Err(("proxy", error.to_owned()));
        }
        if !(1..=50).contains(&self.poll_seconds) {
            let error = format!("{} is not a number from 1 to 50", self.poll_seconds);
            return Err(("poll_seconds", error));
        }
        if self.earlier_messages > MAX_EARLIER {
            return Err(("earlier_messages", format!("it is more than {MAX_EARLIER}")));
        }
        let reactions = [
            ("reaction_received", &self.reaction_received),
            ("reaction_done", &self.reaction_done),
            ("reaction_failed", &self.reaction_failed),
        ];
        if let Some((key, emoji)) = reactions.into_iter().find(|(_, emoji)| !is_reaction(emoji)) {
            let error = "is not one of Telegram's reactions: write one such as 👀, 👍 or 👎";
            return Err((key, format!("{emoji:?} {error}")));
        }
        let webhook = self.webhook.as_deref().map(base_url).transpose();
        webhook.map(drop).map_err(|error| ("webhook", error))
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
    ) -> Result<Telegram, TelegramError> {
        Telegram::new(name, account, self, clock)
    }

    fn setup(channel: &Arc<Telegram>) -> Option<Arc<dyn BotSetup>> {
        Some(channel.clone())
    }

    fn webhook(channel: &Arc<Telegram>) -> Option<Arc<dyn Webhook>> {
        channel.webhook.clone().map(|endpoint| endpoint as Arc<dyn Webhook>)
    }
}

/// Checks the form of a token (Bot API, "Authorizing your bot"). Servers other than Telegram's own
/// have shorter tokens.
fn is_token(token: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    token.split_once(':').is_some_and(|(id, secret)| {
        !id.is_empty()
            && id.chars().all(|c| c.is_ascii_digit())
            && !secret.is_empty()
            && secret.chars().all(is_letter)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_accepts_only_the_reactions_of_the_platform() {
        let check = |emoji: &str| {
            let reaction_done = emoji.to_owned();
            TelegramConfig { reaction_done, ..TelegramConfig::default() }.check()
        };
        for emoji in ["", "👍", "❤", "❤\u{fe0f}", "👨\u{200d}💻"] {
            assert_eq!(check(emoji), Ok(()), "{emoji}");
        }
        for emoji in ["✅", "ok", "👍👍"] {
            let (key, error) = check(emoji).unwrap_err();
            assert_eq!(key, "reaction_done");
            assert!(error.contains("👀, 👍 or 👎"), "{error}");
        }
    }

    #[test]
    fn check_refuses_an_invalid_token_without_showing_it() {
        let check = |token: &str| {
            let token = Some(Secret::new(token.to_owned()));
            TelegramConfig { token, ..TelegramConfig::default() }.check()
        };
        for token in ["1:a", "4711:AA-secret_1"] {
            assert_eq!(check(token), Ok(()), "{token}");
        }
        for token in ["", "bot 12345", "12345", "bot1:aa", ":aa", "1:", "1:a a", "1:aa\n", "1:a:b"]
        {
            let (key, error) = check(token).unwrap_err();
            assert_eq!(key, "token", "{token:?}");
            assert!(token.len() < 3 || !error.contains(token), "{error}");
        }
    }
}
