//! Telegram, as a channel: updates come in by long polling and are confirmed when they are
//! committed; messages go out one by one, rendered and cut as the platform wants them.

mod config;
mod convert;
mod entities;
mod fault;
mod fetch;
mod media;
mod receive;
mod send;
mod unreadable;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::{
    AccountName, Channel, ChannelContext, ChannelError, ChannelName, ChatAddress, Content,
    Delivery, FetchError, Health, Receipt, SendError,
};
use teloxide::net::default_reqwest_settings;

pub use config::TelegramConfig;

use fault::Exchanges;
use receive::Receiver;

/// How long a request may take besides the time that a poll is held open.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// A bot.
pub struct Telegram {
    name: ChannelName,
    account: AccountName,
    client: teloxide::Bot,
    /// Whom the bot may write to without having been written to: a person's private chat has the
    /// person's id.
    allow: BTreeSet<u64>,
    poll_seconds: u32,
    health: Exchanges,
}

/// Without the client, which would show the token (F15).
impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").field("account", &self.account).finish_non_exhaustive()
    }
}

/// Why a bot cannot be made of its configuration. The operator changes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TelegramError {
    /// There is no token.
    #[error(
        "there is no token; get one from @BotFather and refer to it: token = \"${{TELEGRAM_TOKEN}}\""
    )]
    NoToken,
    /// `api_url` is none.
    #[error("api_url is no URL of a server: it has to begin with http:// or https:// and a host")]
    Url,
    /// There can be no HTTP client.
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl Telegram {
    /// The bot of a configuration.
    ///
    /// # Errors
    /// [`TelegramError`] says what to change.
    pub fn new(
        name: ChannelName,
        account: AccountName,
        config: &TelegramConfig,
    ) -> Result<Self, TelegramError> {
        let token = config.token.as_ref().ok_or(TelegramError::NoToken)?;
        let poll_seconds = config.poll_seconds.clamp(1, 50);
        let limit = Duration::from_secs(u64::from(poll_seconds)) + REQUEST_LIMIT;
        let client = default_reqwest_settings()
            .timeout(limit)
            .no_proxy()
            .build()
            .map_err(|error| TelegramError::Client(error.without_url().to_string()))?;
        let client = teloxide::Bot::with_client(token.expose(), client);
        let url = config.api_url.parse().map_err(|_| TelegramError::Url)?;
        let client = client.set_api_url(url);
        // teloxide panics at the first request to a URL that cannot have a path, such as mailto:.
        let url = client.api_url();
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(TelegramError::Url);
        }
        let (allow, health) = (config.allow.iter().copied().collect(), Exchanges::default());
        Ok(Self { name, account, client, allow, poll_seconds, health })
    }
}

#[async_trait]
impl Channel for Telegram {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        Receiver { telegram: self, context: &context }.run().await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        self.send(delivery).await
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        send::plan(reply)
    }

    fn may_write(&self, chat: &ChatAddress) -> bool {
        chat.chat.as_str().parse().is_ok_and(|id: u64| self.allow.contains(&id))
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.download(reference, limit).await
    }

    fn health(&self) -> Health {
        self.health.get()
    }
}
