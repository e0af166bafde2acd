//! Checks the configuration of a bot, and makes the bot from it.

use std::sync::Arc;

use avocet_channel_kit::BotAccess;
use avocet_net::bot_proxy as proxy;
use avocet_protocol::access::Allow;
use avocet_protocol::channel::{BotForm, BotSetup, ChannelConfig, Webhook};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, IdError};
use avocet_text::Secret;

use crate::config::TelegramConfig;
use crate::telegram::reactions::is_reaction;
use crate::webhook::base_url;
use crate::{Telegram, TelegramError, bot_form};

/// The highest `earlier_messages`, so that a request stays small.
const MAX_EARLIER: u32 = 50;

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
