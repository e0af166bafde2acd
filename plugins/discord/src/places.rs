//! What a channel of Discord is to us: a private chat, a channel of a server, or a thread in one.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::ChannelType;
use serenity::model::id::{ChannelId, MessageId};

/// A forum of pictures, which serenity has no name for.
const MEDIA: ChannelType = ChannelType::Unknown(16);

/// What a channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A direct message channel.
    Private,
    /// A channel of a server.
    Channel,
    /// A thread, or a post of a forum.
    Thread {
        /// The channel that it is in.
        parent: ChannelId,
    },
}

/// The channels that are known, so that they need not be asked for.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<ChannelId, Place>);

/// What is read of a channel.
#[derive(Debug, Deserialize)]
pub(crate) struct Described {
    pub(crate) id: ChannelId,
    #[serde(rename = "type")]
    kind: ChannelType,
    #[serde(default)]
    parent_id: Option<ChannelId>,
    /// What was said last. It may be deleted.
    #[serde(default)]
    pub(crate) last_message_id: Option<MessageId>,
}

impl Described {
    pub(crate) fn place(&self) -> Place {
        match (self.kind, self.parent_id) {
            (ChannelType::Private, _) => Place::Private,
            (
                ChannelType::NewsThread | ChannelType::PublicThread | ChannelType::PrivateThread,
                Some(parent),
            ) => Place::Thread { parent },
            _ => Place::Channel,
        }
    }

    /// Whether it has messages of its own: what a forum calls its last message is a thread.
    pub(crate) fn is_spoken_in(&self) -> bool {
        !matches!(self.kind, ChannelType::Forum | MEDIA)
    }
}

/// What an event describes: a channel, or a server with its channels and threads.
pub(crate) fn described(event: &Value) -> impl Iterator<Item = Described> {
    let lists = ["channels", "threads"].iter().filter_map(|list| event[list].as_array());
    lists.flatten().chain([event]).flat_map(Described::deserialize)
}

impl Places {
    pub(crate) fn get(&self, channel: ChannelId) -> Option<Place> {
        self.0.get(&channel).copied()
    }

    pub(crate) fn learn(&mut self, channel: ChannelId, place: Place) {
        self.0.insert(channel, place);
    }

    /// Learns from an event that describes channels.
    pub(crate) fn learn_from(&mut self, event: &Value) {
        for described in described(event) {
            self.learn(described.id, described.place());
        }
    }
}
