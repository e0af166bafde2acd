//! A Discord bot: its settings, and the state that it keeps while it runs.

pub(crate) mod attachments;
pub(crate) mod in_place;
pub(crate) mod reactions;
pub(crate) mod threads;

use std::fmt;
use std::sync::{Arc, OnceLock};

use avocet_net::{InterfaceAddresses, bot_proxy};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName};
use serenity::model::id::UserId;

use crate::channel_set::ChannelSet;
use crate::config::DiscordConfig;
use crate::error::DiscordError;
use crate::health::BotHealth;
use crate::presence::BotActivity;
use crate::rest::RestClient;
use crate::settings::BotSettings;
use crate::uploads::UploadLimits;
use in_place::CommandAnswers;
use reactions::EndedMessages;
use threads::TaskThreads;

/// A Discord bot.
pub struct Discord {
    pub(crate) name: ChannelName,
    pub(crate) account: AccountName,
    /// The bot's own id, once the platform has sent it.
    pub(crate) user_id: OnceLock<UserId>,
    pub(crate) settings: BotSettings,
    pub(crate) rest: RestClient,
    pub(crate) health: BotHealth,
    /// Channels with a history that the bot may not read.
    pub(crate) closed_histories: ChannelSet,
    /// Channels, threads and people to whom the bot may not write at present.
    pub(crate) closed_chats: ChannelSet,
    /// Channels that take no voice messages.
    pub(crate) voiceless: ChannelSet,
    /// Channels in which the bot may not react.
    pub(crate) unreactive: ChannelSet,
    pub(crate) uploads: UploadLimits,
    pub(crate) commands: CommandAnswers,
    pub(crate) task_threads: TaskThreads,
    /// The forums that the platform has described.
    pub(crate) forums: ChannelSet,
    pub(crate) ended: EndedMessages,
    pub(crate) activity: BotActivity,
    /// The addresses of this host, from which downloads are refused.
    pub(crate) interfaces: Arc<InterfaceAddresses>,
    pub(crate) clock: Arc<dyn Clock>,
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
            closed_chats: ChannelSet::default(),
            voiceless: ChannelSet::default(),
            unreactive: ChannelSet::default(),
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
    pub(crate) fn note_user_id(&self, user: UserId) {
        self.user_id.get_or_init(|| user);
    }

    /// Returns the name of the bot's table, as an operator finds it.
    pub(crate) fn config_table(&self) -> String {
        format!("[channels.{}] ({})", self.name, self.account)
    }

    pub(crate) fn unknown_token(&self) -> String {
        format!(
            "Discord does not know the token of {}; get the right one from the developer portal (your \
             application, Bot, Reset Token)",
            self.config_table()
        )
    }
}
