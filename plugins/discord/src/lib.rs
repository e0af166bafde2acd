//! The Discord channel. Events come in over the gateway and are committed one by one. Missed
//! messages are read from the channels' histories. Messages go out one by one, and each is made
//! only once.

mod agenda;
mod attachments;
mod budget;
mod catch_up;
mod config;
mod convert;
mod fault;
mod first_contact;
mod gaps;
mod gateway;
mod history;
mod interactions;
mod limits;
mod misread;
mod places;
mod plan;
mod probe;
mod reading;
mod receive;
mod rest;
mod routes;
mod send;
mod sent_before;
mod uploads;
mod urgent;

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use avocet_channel_kit::{Exchanges, GroupIds};
use avocet_net::Interfaces;
use avocet_protocol::{
    AccountName, Channel, ChannelContext, ChannelError, ChannelName, ChatAddress, Check, Clock,
    Content, Delivery, FetchError, Health, LastExchanges, OnUnknown, Receipt, SendError,
};
use serenity::model::id::{ChannelId, UserId};

pub use config::DiscordConfig;

use rest::RestClient;
use sent_before::ClosedPasts;
use uploads::Uploads;

/// Minimum time between edits: the platform takes five in five seconds; a sixth would wait.
const FASTEST_PREVIEW: Duration = Duration::from_millis(1200);

/// A Discord bot.
pub struct Discord {
    name: ChannelName,
    account: AccountName,
    rest: RestClient,
    /// Allowed users and owners. Their own id stands for the chat with them.
    allow: BTreeSet<u64>,
    answer_all: bool,
    /// Channels in which it answers without a mention.
    unmentioned: BTreeSet<ChannelId>,
    message_content: bool,
    /// `true` if the messages of an answer are numbered.
    numbered: bool,
    /// Minimum time between edits of a growing message; `None` without previews.
    preview: Option<Duration>,
    health: Exchanges,
    /// A text about channels that cannot be read, although the platform answers.
    unread: Mutex<Option<String>>,
    closed_pasts: ClosedPasts,
    uploads: Uploads,
    /// The bot's own id, once the platform has sent it.
    me: OnceLock<UserId>,
    /// The addresses of this host, from which downloads are refused.
    own: Arc<Interfaces>,
    clock: Arc<dyn Clock>,
}

/// Leaves out the client, which would show the token (F15).
impl fmt::Debug for Discord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discord").field("account", &self.account).finish_non_exhaustive()
    }
}

/// The reason why a configuration cannot be used; the operator has to change it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscordError {
    /// The token is missing.
    #[error(
        "there is no token; get one from the developer portal (your application, Bot) and refer to \
         it: token = \"${{DISCORD_TOKEN}}\""
    )]
    NoToken,
    /// The token has impossible characters.
    #[error(
        "the token has characters that no token has; copy it again from the developer portal (your \
         application, Bot)"
    )]
    Token,
    /// `api_url` is an invalid URL.
    #[error("api_url is no URL of a server: it has to begin with http:// or https:// and a host")]
    Url,
    /// The name of a channel's table is not an id.
    #[error("groups: {0:?} is no id of a channel; it is a number, which /id shows in the channel")]
    Group(String),
    /// The HTTP client cannot be made.
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl Discord {
    /// Makes a bot from its configuration.
    ///
    /// # Errors
    /// [`DiscordError`] with the required change.
    pub fn new(
        name: ChannelName,
        account: AccountName,
        config: &DiscordConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DiscordError> {
        let token = config.token.as_ref().ok_or(DiscordError::NoToken)?;
        let rest = RestClient::new(token, &config.api_url, clock.clone())?;
        let preview = Duration::from_secs(u64::from(config.preview_seconds));
        Ok(Self {
            name,
            account,
            rest,
            allow: config.allow.iter().chain(&config.owners).copied().collect(),
            answer_all: config.answer_all,
            unmentioned: unmentioned(config)?,
            message_content: config.message_content,
            numbered: config.numbered,
            preview: (!preview.is_zero()).then_some(preview.max(FASTEST_PREVIEW)),
            health: Exchanges::new(clock.clone()),
            unread: Mutex::default(),
            closed_pasts: ClosedPasts::default(),
            uploads: Uploads::default(),
            me: OnceLock::new(),
            own: Arc::default(),
            clock,
        })
    }

    /// Notes the bot's own id, which never changes.
    fn is(&self, me: UserId) {
        self.me.get_or_init(|| me);
    }

    fn known_as(&self) -> Option<UserId> {
        self.me.get().copied()
    }

    /// Notes the text about unreadable channels; `None` if all can be read.
    fn note_unread(&self, why: Option<String>) {
        *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Returns the name of the bot's table, as an operator finds it.
    fn table(&self) -> String {
        format!("[channels.{}] ({})", self.name, self.account)
    }

    fn unknown_token(&self) -> String {
        format!(
            "Discord does not know the token of {}; get the right one from the developer portal (your \
             application, Bot, Reset Token)",
            self.table()
        )
    }
}

/// Returns the channels in which the bot answers without a mention. This also checks the id of
/// every channel.
fn unmentioned(config: &DiscordConfig) -> Result<BTreeSet<ChannelId>, DiscordError> {
    let parse = |id: &str| id.parse::<NonZeroU64>().ok().map(ChannelId::from);
    let ids = GroupIds::parse(&config.groups, parse).map_err(DiscordError::Group)?;
    Ok(ids.unmentioned)
}

#[async_trait]
impl Channel for Discord {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        receive::run(self, &context).await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        self.send(delivery).await
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        plan::plan(reply, self.numbered)
    }

    fn pause_before(&self, delivery: &Delivery) -> Duration {
        let place = send::place(&delivery.address);
        let now = self.clock.elapsed();
        place.map_or(Duration::ZERO, |id| self.rest.limits.pause(id.into(), now))
    }

    fn max_file_bytes(&self, chat: &ChatAddress) -> Option<u64> {
        Some(self.uploads.max_bytes(chat.chat.as_str().parse().ok()))
    }

    fn preview_interval(&self) -> Option<Duration> {
        self.preview
    }

    async fn typing(&self, chat: &ChatAddress) {
        self.show_typing(chat).await;
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.fetch_attachment(reference, limit).await
    }

    /// The platform recognises a message by its nonce; later, we recognise it by its text.
    fn on_unknown(&self) -> OnUnknown {
        OnUnknown::RepeatSafe
    }

    /// The platform sends an interaction once, to the connected client. It fails after three
    /// seconds.
    fn forgets_presses(&self) -> bool {
        true
    }

    fn exchanges(&self) -> LastExchanges {
        self.health.exchanges()
    }

    async fn probe(&self) -> Vec<Check> {
        self.look().await
    }

    fn health(&self) -> Health {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (self.health.get(), unread) {
            (Health::Up, Some(why)) => Health::Down(why),
            (health, _) => health,
        }
    }
}
