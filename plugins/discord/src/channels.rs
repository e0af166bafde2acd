//! Discord's channels, as the platform describes them.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::ChannelType;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::lenient::readable_field;

/// A forum of pictures; serenity lacks a name for it.
const MEDIA: ChannelType = ChannelType::Unknown(16);

/// The types of channels that the bot treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiscordChannel {
    /// A direct message channel.
    Direct,
    Server,
    /// A thread, or a post of a forum.
    Thread {
        /// The channel that contains the thread.
        parent: ChannelId,
    },
}

/// The known channels, which save a request.
#[derive(Debug, Default)]
pub(crate) struct KnownChannels(HashMap<ChannelId, DiscordChannel>);

/// The used fields of a channel.
#[derive(Debug, Deserialize)]
pub(crate) struct ChannelInfo {
    pub(crate) id: ChannelId,
    #[serde(rename = "type")]
    kind: ChannelType,
    #[serde(default, deserialize_with = "readable_field")]
    parent_id: Option<ChannelId>,
    /// The last message, which may be deleted.
    #[serde(default, deserialize_with = "readable_field")]
    pub(crate) last_message_id: Option<MessageId>,
    /// For a thread, the user who made it.
    #[serde(default, deserialize_with = "readable_field")]
    owner_id: Option<UserId>,
    /// For a thread, the bot's membership: a bot joins by writing (Discord API, "Thread Members").
    #[serde(default)]
    member: Option<Value>,
}

impl ChannelInfo {
    pub(crate) fn channel_type(&self) -> DiscordChannel {
        match (self.kind, self.parent_id) {
            (ChannelType::Private, _) => DiscordChannel::Direct,
            (
                ChannelType::NewsThread | ChannelType::PublicThread | ChannelType::PrivateThread,
                Some(parent),
            ) => DiscordChannel::Thread { parent },
            _ => DiscordChannel::Server,
        }
    }

    /// Returns `true` for a thread in which the bot has written, or which it has made.
    pub(crate) fn is_spoken(&self, bot: UserId) -> bool {
        matches!(self.channel_type(), DiscordChannel::Thread { .. })
            && (self.owner_id == Some(bot) || self.member.is_some())
    }

    /// Returns `true` if the channel contains messages. A forum contains threads only: its
    /// `last_message_id` is that of a thread.
    pub(crate) fn has_messages(&self) -> bool {
        !matches!(self.kind, ChannelType::Forum | MEDIA)
    }
}

/// Returns the channels that an event describes: one channel, or those of a server, with its
/// threads.
pub(crate) fn described(event: &Value) -> impl Iterator<Item = ChannelInfo> {
    described_values(event).flat_map(ChannelInfo::deserialize)
}

/// Returns the JSON of these channels. One of the values may be the server itself.
pub(crate) fn described_values(event: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["channels", "threads"].iter().filter_map(|list| event[list].as_array());
    lists.flatten().chain([event])
}

impl KnownChannels {
    pub(crate) fn get(&self, channel: ChannelId) -> Option<DiscordChannel> {
        self.0.get(&channel).copied()
    }

    pub(crate) fn note_type(&mut self, channel: ChannelId, channel_type: DiscordChannel) {
        self.0.insert(channel, channel_type);
    }

    /// Notes the types of the channels that an event describes.
    pub(crate) fn learn_from(&mut self, event: &Value) {
        for described in described(event) {
            self.note_type(described.id, described.channel_type());
        }
    }
}
