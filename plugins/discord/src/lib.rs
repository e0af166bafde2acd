//! The Discord channel. Events come in over the gateway and are committed one by one. Missed
//! messages are read from the channels' histories. Messages go out one by one, and each is made
//! only once.

mod attachments;
mod bot_form;
mod bounded;
mod cards;
mod channel_set;
mod channels;
mod compose;
mod config;
mod convert;
mod error;
mod fault;
mod find_sent;
mod forum;
mod gateway;
mod health;
mod history;
mod in_place;
mod interactions;
mod lenient;
mod limits;
mod outcome;
mod post_heading;
mod presence;
mod probe;
mod reactions;
mod receive;
mod rest;
mod routes;
mod send;
mod settings;
mod setup;
mod threads;
mod uploads;
mod voice_message;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{InterfaceAddresses, bot_proxy};
use avocet_protocol::{
    AccountName, Channel, ChannelCapabilities, ChannelContext, ChannelError, ChannelName,
    ChatAddress, Check, Clock, Content, DedupeKey, Delivery, FetchError, Health, LastExchanges,
    OnUnknown, Outcome, PlatformId, Receipt, SendError,
};
use serenity::model::id::UserId;

pub use config::{DiscordConfig, ServerConfig};
pub use error::DiscordError;
pub use threads::Threads;

use channel_set::ChannelSet;
use health::BotHealth;
use in_place::CommandAnswers;
use presence::BotActivity;
use reactions::EndedMessages;
use rest::RestClient;
use settings::BotSettings;
use threads::TaskThreads;
use uploads::UploadLimits;

/// A Discord bot.
pub struct Discord {
    name: ChannelName,
    account: AccountName,
    /// The bot's own id, once the platform has sent it.
    user_id: OnceLock<UserId>,
    settings: BotSettings,
    rest: RestClient,
    health: BotHealth,
    /// Channels with a history that the bot may not read.
    closed_histories: ChannelSet,
    /// Channels that take no voice messages.
    voiceless: ChannelSet,
    uploads: UploadLimits,
    commands: CommandAnswers,
    task_threads: TaskThreads,
    /// The forums that the platform has described.
    forums: ChannelSet,
    ended: EndedMessages,
    activity: BotActivity,
    /// The addresses of this host, from which downloads are refused.
    interfaces: Arc<InterfaceAddresses>,
    clock: Arc<dyn Clock>,
}

/// Leaves out the client, which would show the token (F15).
impl fmt::Debug for Discord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discord").field("account", &self.account).finish_non_exhaustive()
    }
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
        let proxy = config.proxy.as_ref().map(bot_proxy::parse_or_unreachable);
        let proxy = proxy.map(|proxy| proxy.ok_or(DiscordError::Proxy)).transpose()?;
        let rest = RestClient::new(token, &config.api_url, proxy.as_ref(), clock.clone())?;
        Ok(Self {
            name,
            account,
            user_id: OnceLock::new(),
            settings: BotSettings::read(config)?,
            rest,
            health: BotHealth::new(clock.clone()),
            closed_histories: ChannelSet::default(),
            voiceless: ChannelSet::default(),
            uploads: UploadLimits::default(),
            commands: CommandAnswers::default(),
            task_threads: TaskThreads::default(),
            forums: ChannelSet::default(),
            ended: EndedMessages::default(),
            activity: BotActivity::default(),
            interfaces: Arc::default(),
            clock,
        })
    }

    /// Notes the bot's own id, which never changes.
    fn note_user_id(&self, user: UserId) {
        self.user_id.get_or_init(|| user);
    }

    /// Returns the name of the bot's table, as an operator finds it.
    fn config_table(&self) -> String {
        format!("[channels.{}] ({})", self.name, self.account)
    }

    fn unknown_token(&self) -> String {
        format!(
            "Discord does not know the token of {}; get the right one from the developer portal (your \
             application, Bot, Reset Token)",
            self.config_table()
        )
    }
}

#[async_trait]
impl Channel for Discord {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            preview_interval: self.settings.preview,
            can_edit: true,
            sends_code_as_files: true,
            has_polls: true,
            keeps_files: true,
            // The platform sends an interaction once, to the connected client. It fails after three
            // seconds.
            forgets_presses: true,
            // The platform recognises a message by its nonce; later, we recognise it by its text.
            on_unknown: OnUnknown::RepeatSafe,
        }
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        receive::run(self, &context).await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        self.send(delivery).await
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        compose::chunks(reply, self.settings.numbered)
    }

    fn plan_preview(&self, reply: &Content) -> Vec<Content> {
        compose::preview_chunks(reply, self.settings.numbered)
    }

    fn pause_before(&self, delivery: &Delivery) -> Duration {
        let target = send::channel_or_user(&delivery.address);
        let now = self.clock.elapsed();
        target.map_or(Duration::ZERO, |id| self.rest.limits.pause(id.into(), now))
    }

    fn max_file_bytes(&self, chat: &ChatAddress) -> Option<u64> {
        Some(self.uploads.max_bytes(chat.chat.as_str().parse().ok()))
    }

    async fn typing(&self, chat: &ChatAddress) {
        self.activity.note_typing(self.clock.elapsed());
        self.show_typing(chat).await;
    }

    fn note_outcome(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        self.activity.note_outcome(outcome);
        self.note_end(chat, key, outcome);
    }

    async fn retract(&self, chat: &ChatAddress, message: &PlatformId) -> Result<(), SendError> {
        self.delete(chat, message).await
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.fetch_attachment(reference, limit).await
    }

    fn exchanges(&self) -> LastExchanges {
        self.health.last_exchanges()
    }

    fn is_starting(&self) -> bool {
        self.health.is_starting()
    }

    fn overdue(&self) -> Option<Duration> {
        self.health.watch.overdue()
    }

    async fn probe(&self) -> Vec<Check> {
        self.check_access().await
    }

    fn health(&self) -> Health {
        self.health.get()
    }
}
