//! The types of Discord's channels: a private chat, a channel of a server, or a thread in one.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::ChannelType;
use serenity::model::id::{ChannelId, MessageId};

/// A forum of pictures; serenity lacks a name for it.
const MEDIA: ChannelType = ChannelType::Unknown(16);

/// The type of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelPlace {
    /// A direct message channel.
    Private,
    /// A channel of a server.
    Channel,
    /// A thread, or a post of a forum.
    Thread {
        /// The channel that contains the thread.
        parent: ChannelId,
    },
}

/// The known channels, which save a request.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<ChannelId, ChannelPlace>);

/// The used fields of a channel.
#[derive(Debug, Deserialize)]
pub(crate) struct Described {
    pub(crate) id: ChannelId,
    #[serde(rename = "type")]
    kind: ChannelType,
    #[serde(default)]
    parent_id: Option<ChannelId>,
    /// The last message, which may be deleted.
    #[serde(default)]
    pub(crate) last_message_id: Option<MessageId>,
}

impl Described {
    pub(crate) fn place(&self) -> ChannelPlace {
        match (self.kind, self.parent_id) {
            (ChannelType::Private, _) => ChannelPlace::Private,
            (
                ChannelType::NewsThread | ChannelType::PublicThread | ChannelType::PrivateThread,
                Some(parent),
            ) => ChannelPlace::Thread { parent },
            _ => ChannelPlace::Channel,
        }
    }

    /// Returns `true` if the channel has messages of its own: the last message of a forum is a
    /// thread.
    pub(crate) fn is_spoken_in(&self) -> bool {
        !matches!(self.kind, ChannelType::Forum | MEDIA)
    }
}

/// Returns the channels that an event describes: one channel, or those of a server, with its
/// threads.
pub(crate) fn described(event: &Value) -> impl Iterator<Item = Described> {
    let lists = ["channels", "threads"].iter().filter_map(|list| event[list].as_array());
    lists.flatten().chain([event]).flat_map(Described::deserialize)
}

impl Places {
    pub(crate) fn get(&self, channel: ChannelId) -> Option<ChannelPlace> {
        self.0.get(&channel).copied()
    }

    pub(crate) fn learn(&mut self, channel: ChannelId, place: ChannelPlace) {
        self.0.insert(channel, place);
    }

    /// Learns from an event that describes channels.
    pub(crate) fn learn_from(&mut self, event: &Value) {
        for described in described(event) {
            self.learn(described.id, described.place());
        }
    }
}
