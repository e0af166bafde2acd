//! A Telegram bot: its settings, and the state that it keeps while it runs. The files of its folder
//! send what it says, and follow how the platform takes it.

pub(crate) mod attempt;
mod drafts;
pub(crate) mod edit;
pub(crate) mod ephemeral;
pub(crate) mod files;
mod media_group;
pub(crate) mod pace;
mod presses;
pub(crate) mod reactions;
mod rich;
pub(crate) mod token;
pub(crate) mod user_reactions;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use avocet_channel_kit::{Exchanges, GroupIds, Pace, ReceiveWatch};
use avocet_net::bot_proxy as proxy;
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName};

use crate::album::BotAlbums;
use crate::api::Api;
use crate::checklists::ChecklistChanges;
use crate::config::TelegramConfig;
use crate::error::TelegramError;
use crate::joined_parts::JoinedParts;
use crate::kept_parts::KeptParts;
use crate::last_parts::LastParts;
use crate::moved::Moves;
use crate::recent::GroupMessages;
use crate::topic::LostTopics;
use crate::webhook::Endpoint;
use drafts::BotDrafts;
use ephemeral::EphemeralAnswers;
use media_group::PartlySent;
use presses::HeldPresses;
use reactions::BotReactions;
use rich::RichMessages;
use token::TokenState;
use user_reactions::UserReactions;

/// A Telegram bot.
pub struct Telegram {
    pub(crate) name: ChannelName,
    pub(crate) account: AccountName,
    pub(crate) api: Api,
    /// Groups in which the bot answers without a mention.
    pub(crate) unmentioned: BTreeSet<i64>,
    /// Groups whose id has changed.
    pub(crate) moves: Moves,
    /// `true` if the messages of an answer are numbered.
    pub(crate) numbered: bool,
    pub(crate) poll_seconds: u32,
    /// `true` if requests go through a proxy.
    pub(crate) has_proxy: bool,
    /// The last albums that came through the webhook.
    pub(crate) albums: BotAlbums,
    /// Parts of messages that an earlier version has kept in the log.
    pub(crate) kept_parts: KeptParts,
    /// The last message of each author in each chat.
    pub(crate) last_parts: LastParts,
    /// The parts of the last messages that several updates formed.
    pub(crate) joined: JoinedParts,
    /// Messages of groups that were not for the agent.
    pub(crate) recent: GroupMessages,
    /// `None` if the account polls.
    pub(crate) webhook: Option<Arc<Endpoint>>,
    /// The least time between two edits of a preview; `None` without previews.
    pub(crate) preview: Option<Duration>,
    pub(crate) health: Exchanges,
    pub(crate) watch: ReceiveWatch,
    pub(crate) pace: Pace,
    pub(crate) token: TokenState,
    pub(crate) lost_topics: LostTopics,
    pub(crate) partly_sent: PartlySent,
    pub(crate) drafts: BotDrafts,
    pub(crate) rich: RichMessages,
    pub(crate) reactions: BotReactions,
    pub(crate) presses: HeldPresses,
    pub(crate) ephemeral: EphemeralAnswers,
    pub(crate) user_reactions: UserReactions,
    pub(crate) checklists: ChecklistChanges,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Omits the client, which would show the token (F15).
impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").field("account", &self.account).finish_non_exhaustive()
    }
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
            kept_parts: KeptParts::default(),
            last_parts: LastParts::default(),
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
            presses: HeldPresses::default(),
            ephemeral: EphemeralAnswers::default(),
            user_reactions: UserReactions::default(),
            checklists: ChecklistChanges::default(),
            clock,
        })
    }
}
