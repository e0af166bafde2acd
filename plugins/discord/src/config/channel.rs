//! Checks the configuration of a bot, and makes the bot from it.

use std::num::NonZeroU64;
use std::sync::Arc;

use avocet_channel_kit::BotAccess;
use avocet_net::bot_proxy;
use avocet_protocol::access::Allow;
use avocet_protocol::channel::{BotForm, BotSetup, ChannelConfig};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, IdError};
use avocet_text::Secret;

use crate::config::DiscordConfig;
use crate::{Discord, DiscordError, bot_form};

/// Most earlier messages that a model gets.
const MAX_EARLIER: u32 = 50;

impl DiscordConfig {
    fn reactions(&self) -> [(&'static str, &str); 3] {
        [
            ("reaction_received", &self.reaction_received),
            ("reaction_done", &self.reaction_done),
            ("reaction_failed", &self.reaction_failed),
        ]
    }
}

impl ChannelConfig for DiscordConfig {
    const NAME: &'static str = "discord";
    const ACCESS_KEYS: &'static [&'static str] =
        &["pairing", "groups.*.allow", "groups.*.owner_tools"];
    const BOT: Option<BotForm> = Some(bot_form::BOT);
    type Channel = Discord;
    type Error = DiscordError;

    fn check(&self) -> Result<(), (&'static str, String)> {
        const PORTAL: &str = "the developer portal (your application, Bot)";
        if let Some(Err(error)) = self.proxy.as_ref().map(bot_proxy::parse_proxy) {
            return Err(("proxy", error.to_owned()));
        }
        match self.token.as_ref().map(Secret::expose) {
            Some("") => Err(("token", format!("it is empty; get a token from {PORTAL}"))),
            Some(token) if !is_token(token) => {
                let error = "it has characters that a bot token cannot have: copy it again from";
                Err(("token", format!("{error} {PORTAL}")))
            }
            _ if !self.reactions().iter().all(|(_, emoji)| is_reaction(emoji)) => {
                let wrong = self.reactions().into_iter().find(|(_, emoji)| !is_reaction(emoji));
                let (key, emoji) = wrong.unwrap_or_default();
                let error = "is no emoji: write one character such as 👀, or name:id of a \
                     server's own emoji";
                Err((key, format!("{emoji:?} {error}")))
            }
            _ if self.earlier_messages > MAX_EARLIER => {
                Err(("earlier_messages", format!("it is more than {MAX_EARLIER}")))
            }
            _ => Ok(()),
        }
    }

    fn allow(&self) -> Result<Allow, IdError> {
        let Self { allow, owners, groups, pairing, .. } = self;
        let mut rule = BotAccess { allow, owners, groups, pairing: *pairing }.rule()?;
        if let (Allow::Listed(lists), Ok(roles)) = (&mut rule, self.roles()) {
            lists.roles = roles.into_iter().map(|(id, role)| (id.to_string(), role)).collect();
        }
        Ok(rule)
    }

    fn channel(
        &self,
        name: ChannelName,
        account: AccountName,
        clock: Arc<dyn Clock>,
    ) -> Result<Discord, DiscordError> {
        Discord::new(name, account, self, clock)
    }

    fn setup(channel: &Arc<Discord>) -> Option<Arc<dyn BotSetup>> {
        Some(channel.clone())
    }
}

/// Returns `true` if a text can be an emoji of a reaction, or is empty.
fn is_reaction(emoji: &str) -> bool {
    let own = emoji
        .split_once(':')
        .map(|(name, id)| !name.is_empty() && id.parse::<NonZeroU64>().is_ok());
    let has_path = |c: char| "/?#%".contains(c) || c.is_whitespace();
    emoji.is_empty() || own.unwrap_or(!emoji.is_ascii()) && !emoji.contains(has_path)
}

/// Returns `true` if a text has the form of a token (Discord API, "Authentication").
fn is_token(token: &str) -> bool {
    let token = token.trim();
    let token = token.strip_prefix("Bot ").unwrap_or(token);
    !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic())
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
