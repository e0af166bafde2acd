//! The settings of a bot, from its checked configuration.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use avocet_channel_kit::GroupIds;
use serenity::model::id::ChannelId;

use crate::config::DiscordConfig;
use crate::error::DiscordError;

/// Minimum time between edits: the platform takes five in five seconds; a sixth would wait.
const FASTEST_PREVIEW: Duration = Duration::from_millis(1200);

/// The settings of a bot that do not change while it runs.
#[derive(Debug)]
pub(crate) struct BotSettings {
    /// Allowed users and owners. Their own id stands for the chat with them.
    pub(crate) allow: BTreeSet<u64>,
    /// `true` if the bot answers every message.
    pub(crate) answer_all: bool,
    /// Channels in which the bot answers without a mention.
    pub(crate) unmentioned: BTreeSet<ChannelId>,
    /// `true` to request the content of messages that do not mention the bot.
    pub(crate) message_content: bool,
    /// `true` if the messages of an answer are numbered.
    pub(crate) numbered: bool,
    /// Minimum time between edits of a growing message; `None` without previews.
    pub(crate) preview: Option<Duration>,
}

impl BotSettings {
    /// Reads the settings from a configuration.
    ///
    /// # Errors
    /// [`DiscordError::Group`] if the name of a channel's table is not an id.
    pub(crate) fn read(config: &DiscordConfig) -> Result<Self, DiscordError> {
        let parse = |id: &str| id.parse::<NonZeroU64>().ok().map(ChannelId::from);
        let channels = GroupIds::parse(&config.groups, parse).map_err(DiscordError::Group)?;
        let preview = Duration::from_secs(u64::from(config.preview_seconds));
        Ok(Self {
            allow: config.allow.iter().chain(&config.owners).copied().collect(),
            answer_all: config.answer_all,
            unmentioned: channels.unmentioned,
            message_content: config.message_content,
            numbered: config.numbered,
            preview: (!preview.is_zero()).then_some(preview.max(FASTEST_PREVIEW)),
        })
    }
}
