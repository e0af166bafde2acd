//! The settings of a bot, from its checked configuration.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use avocet_channel_kit::GroupIds;
use serenity::model::id::{ChannelId, RoleId};

use crate::config::DiscordConfig;
use crate::discord::reactions::ReactionEmojis;
use crate::discord::threads::Threads;
use crate::error::DiscordError;

/// Minimum time between edits: the platform takes five in five seconds; a sixth would wait.
const FASTEST_PREVIEW: Duration = Duration::from_millis(1200);

/// The settings of a bot that do not change while it runs.
#[derive(Debug)]
pub(crate) struct BotSettings {
    /// Allowed users and owners. Their id as an address means the private chat with them.
    pub(crate) allow: BTreeSet<u64>,
    /// `true` if the bot answers every message.
    pub(crate) answer_all: bool,
    /// Channels in which the bot answers without a mention.
    pub(crate) unmentioned: BTreeSet<ChannelId>,
    /// `true` if people can install the bot for themselves.
    pub(crate) user_install: bool,
    /// `true` if an answer that took long notifies its asker.
    pub(crate) ping: bool,
    /// `true` if the bot shows what it does.
    pub(crate) presence: bool,
    pub(crate) reactions: ReactionEmojis,
    /// The roles of servers that give access.
    pub(crate) roles: BTreeSet<RoleId>,
    pub(crate) threads: Threads,
    /// `true` if threads in which the bot has written need mentions like other channels.
    pub(crate) thread_mention: bool,
    /// Messages before a mention that the model gets.
    pub(crate) earlier_messages: usize,
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
    /// [`DiscordError::Group`] if the name of a channel's table is not an id,
    /// [`DiscordError::Server`] for a server's table or a role.
    pub(crate) fn read(config: &DiscordConfig) -> Result<Self, DiscordError> {
        let parse = |id: &str| id.parse::<NonZeroU64>().ok().map(ChannelId::from);
        let channels = GroupIds::parse(&config.groups, parse).map_err(DiscordError::Group)?;
        let preview = Duration::from_secs(u64::from(config.preview_seconds));
        Ok(Self {
            allow: config.allow.iter().chain(&config.owners).copied().collect(),
            answer_all: config.answer_all,
            unmentioned: channels.unmentioned,
            ping: config.ping,
            presence: config.presence,
            user_install: config.user_install,
            reactions: ReactionEmojis {
                received: config.reaction_received.clone(),
                done: config.reaction_done.clone(),
                failed: config.reaction_failed.clone(),
            },
            roles: config.roles()?.into_keys().collect(),
            threads: config.threads,
            thread_mention: config.thread_mention,
            earlier_messages: config.earlier_messages as usize,
            message_content: config.message_content,
            numbered: config.numbered,
            preview: (!preview.is_zero()).then_some(preview.max(FASTEST_PREVIEW)),
        })
    }

    /// Returns the ids, as texts, of those roles of a member that the configuration names.
    pub(crate) fn named_roles(&self, of_member: &[RoleId]) -> Vec<String> {
        let named = of_member.iter().filter(|role| self.roles.contains(role));
        named.map(ToString::to_string).collect()
    }
}
