//! The Telegram channel. Updates come in by long polling or through a webhook, and are confirmed
//! once they are committed. Messages go out one by one, rendered and split for the platform.

mod album;
mod api;
mod attempt;
mod bot;
mod bot_form;
mod chat_author;
mod checklists;
mod commands;
mod comments;
mod compose;
mod config;
mod convert;
mod direct_topics;
mod drafts;
mod edit;
mod entities;
mod envelope;
mod failures;
mod fault;
mod fetch;
mod files;
mod forwards;
mod joined_parts;
mod lenient;
mod media;
mod media_group;
mod message;
mod moved;
mod numbers;
mod outcome;
mod pace;
mod parts;
mod pending_parts;
mod plan;
mod poll;
mod position;
mod probe;
mod quotes;
mod raw_content;
mod reaction_queue;
mod reactions;
mod receive;
mod recent;
mod rich;
mod send;
mod serve;
mod setup;
mod stages;
mod token;
mod topic;
mod update;
mod user_reactions;
mod webhook;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_channel_kit::{Exchanges, GroupIds, Pace, ReceiveWatch};
use avocet_net::bot_proxy as proxy;
use avocet_protocol::{
    AccountName, Channel, ChannelCapabilities, ChannelContext, ChannelError, ChannelName,
    ChatAddress, Check, Clock, Content, DedupeKey, Delivery, DraftError, FetchError, Health,
    LastExchanges, Outcome, PlatformId, Receipt, SendError, TurnId,
};

pub use config::TelegramConfig;

use album::BotAlbums;
use api::Api;
use checklists::ChecklistChanges;
use comments::LastTexts;
use drafts::BotDrafts;
use joined_parts::JoinedParts;
use media_group::PartlySent;
use moved::Moves;
use pending_parts::PendingParts;
use reactions::BotReactions;
use recent::GroupMessages;
use rich::RichMessages;
use token::TokenState;
use topic::LostTopics;
use user_reactions::UserReactions;
use webhook::Endpoint;

/// A Telegram bot.
pub struct Telegram {
    name: ChannelName,
    account: AccountName,
    api: Api,
    /// Groups in which the bot answers without a mention.
    unmentioned: BTreeSet<i64>,
    /// Groups whose id has changed.
    moves: Moves,
    /// `true` if the messages of an answer are numbered.
    numbered: bool,
    poll_seconds: u32,
    /// `true` if requests go through a proxy.
    has_proxy: bool,
    /// The last albums that came through the webhook.
    albums: BotAlbums,
    /// Parts of messages that came through the webhook.
    pending_parts: PendingParts,
    /// Texts that came through the webhook.
    last_texts: LastTexts,
    /// The parts of the last messages that several updates formed.
    joined: JoinedParts,
    /// Messages of groups that were not for the agent.
    recent: GroupMessages,
    /// `None` if the account polls.
    webhook: Option<Arc<Endpoint>>,
    /// The least time between two edits of a preview; `None` without previews.
    preview: Option<Duration>,
    health: Exchanges,
    watch: ReceiveWatch,
    pace: Pace,
    token: TokenState,
    lost_topics: LostTopics,
    partly_sent: PartlySent,
    drafts: BotDrafts,
    rich: RichMessages,
    reactions: BotReactions,
    user_reactions: UserReactions,
    checklists: ChecklistChanges,
    clock: Arc<dyn Clock>,
}

/// Omits the client, which would show the token (F15).
impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").field("account", &self.account).finish_non_exhaustive()
    }
}

/// An error in a bot's configuration, which the operator has to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TelegramError {
    /// The token is missing.
    #[error(
        "there is no token; get one from @BotFather and refer to it: token = \"${{TELEGRAM_TOKEN}}\""
    )]
    NoToken,
    /// `api_url` is invalid.
    #[error(
        "api_url is not the URL of a server: it must begin with http:// or https:// and a host"
    )]
    Url,
    /// `proxy` is invalid.
    #[error("proxy: {}", proxy::FORM)]
    Proxy,
    /// `webhook` is invalid.
    #[error("webhook: {0}")]
    Webhook(String),
    /// The name of a group's table is not a group id.
    #[error(
        "groups: {0:?} is not the id of a group, which is a negative number; /id shows it in the \
            group"
    )]
    Group(String),
    /// The HTTP client cannot be created.
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl Telegram {
    /// Creates a bot from its configuration.
    ///
    /// # Errors
    /// [`TelegramError`] if a setting is missing or invalid.
    pub fn new(
        name: ChannelName,
        account: AccountName,
        config: &TelegramConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TelegramError> {
        let token = config.token.as_ref().ok_or(TelegramError::NoToken)?;
        let poll_seconds = config.poll_seconds;
        let proxy = config.proxy.as_ref().map(proxy::parse_or_unreachable);
        let proxy = proxy.map(|proxy| proxy.ok_or(TelegramError::Proxy)).transpose()?;
        let has_proxy = proxy.is_some();
        let api = Api::new(token, &config.api_url, poll_seconds, proxy)?;
        let parse = |id: &str| id.parse().ok().filter(|id: &i64| *id < 0);
        let groups = GroupIds::parse(&config.groups, parse).map_err(TelegramError::Group)?;
        let preview = Duration::from_secs(u64::from(config.preview_seconds));
        let webhook = config.webhook.as_deref();
        let webhook = webhook.map(|base| Endpoint::new(base, &name, &account)).transpose();
        let webhook = webhook.map_err(TelegramError::Webhook)?.map(Arc::new);
        Ok(Self {
            name,
            account,
            api,
            unmentioned: groups.unmentioned,
            moves: Moves::new(groups.named),
            numbered: config.numbered,
            poll_seconds,
            has_proxy,
            albums: BotAlbums::default(),
            pending_parts: PendingParts::default(),
            last_texts: LastTexts::default(),
            joined: JoinedParts::default(),
            recent: GroupMessages::new(config.earlier_messages),
            webhook,
            preview: (!preview.is_zero()).then_some(preview),
            health: Exchanges::new(clock.clone()),
            watch: ReceiveWatch::new(clock.clone()),
            pace: Pace::new(pace::RATES, clock.clone()),
            token: TokenState::new(),
            lost_topics: LostTopics::default(),
            partly_sent: PartlySent::default(),
            drafts: BotDrafts::new(config.drafts),
            rich: RichMessages::new(config.rich_tables),
            reactions: BotReactions::new(config),
            user_reactions: UserReactions::default(),
            checklists: ChecklistChanges::default(),
            clock,
        })
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

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            preview_interval: self.preview,
            can_edit: true,
            sends_code_as_files: true,
            has_polls: true,
            keeps_files: true,
            ..ChannelCapabilities::default()
        }
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        receive::run(self, &context).await
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        // Fails if a hold began after the chat got its turn: a request would be refused.
        let under_way = self.pace.leave(&delivery.address.chat).await;
        let _under_way = under_way.map_err(SendError::RetryAfter)?;
        let sent = match delivery.content.attachments.len() {
            0 => self.send(delivery).await,
            1 => self.send_file(delivery).await,
            _ => self.send_files(delivery).await,
        };
        self.note_rate_limit(delivery, &sent);
        if let Ok(receipt) = &sent {
            self.drafts.end(&delivery.address);
            self.account_accepted();
            self.note_own(delivery, receipt);
        }
        sent
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        self.rich.keep_tables(reply, plan::plan(reply, self.numbered))
    }

    fn plan_preview(&self, reply: &Content) -> Vec<Content> {
        plan::plan_preview(reply, self.numbered)
    }

    fn max_file_bytes(&self, _chat: &ChatAddress) -> Option<u64> {
        Some(files::max_bytes(self.api.host().as_deref()))
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.download(reference, limit).await
    }

    async fn turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        self.pace.turn(&delivery.address.chat, pace::is_group(delivery)).await
    }

    fn spare_turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        self.pace.spare_turn(&delivery.address.chat, pace::is_group(delivery))
    }

    fn shows_drafts(&self, chat: &ChatAddress) -> bool {
        self.may_draft(chat)
    }

    async fn show_draft(
        &self,
        chat: &ChatAddress,
        turn: TurnId,
        content: &Content,
    ) -> Result<(), DraftError> {
        self.send_draft(chat, turn, content).await
    }

    async fn typing(&self, chat: &ChatAddress) {
        self.show_typing(chat).await;
    }

    fn note_outcome(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        self.reactions.note_end(chat, key, outcome);
    }

    async fn retract(&self, chat: &ChatAddress, message: &PlatformId) -> Result<(), SendError> {
        self.delete(chat, message).await
    }

    fn exchanges(&self) -> LastExchanges {
        self.health.exchanges()
    }

    fn is_starting(&self) -> bool {
        self.health.is_starting()
    }

    fn overdue(&self) -> Option<Duration> {
        self.watch.overdue()
    }

    async fn probe(&self) -> Vec<Check> {
        self.run_checks().await
    }

    fn health(&self) -> Health {
        self.health.get()
    }
}
