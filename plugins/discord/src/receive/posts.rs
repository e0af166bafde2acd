//! Titles and tags of forum posts. The first message of a post comes with them, because its text
//! alone often lacks the subject.

use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, ForumTagId};

use crate::bounded::KnownMap;
use crate::channels::{DiscordChannel, described_values};
use crate::post_heading::PostHeading;

/// The posts and the tags of forums, as the platform has described them.
#[derive(Debug, Default)]
pub(super) struct ForumPosts {
    posts: KnownMap<ChannelId, ForumPost>,
    tags: KnownMap<ForumTagId, String>,
}

#[derive(Debug)]
struct ForumPost {
    title: String,
    tags: Vec<ForumTagId>,
}

/// The used fields of a channel (Discord API, "Channel Object").
#[derive(Deserialize)]
struct ForumFields {
    id: ChannelId,
    #[serde(default)]
    name: String,
    /// A forum's own tags.
    #[serde(default)]
    available_tags: Vec<ForumTagFields>,
    /// The tags of a post.
    #[serde(default)]
    applied_tags: Option<Vec<ForumTagId>>,
}

#[derive(Deserialize)]
struct ForumTagFields {
    id: ForumTagId,
    name: String,
}

impl ForumPosts {
    /// Notes the tags and posts of the channels that an event describes.
    pub(super) fn learn_from(&mut self, event: &Value) {
        for channel in described_values(event).flat_map(ForumFields::deserialize) {
            for tag in channel.available_tags {
                self.tags.put(tag.id, tag.name);
            }
            if let Some(tags) = channel.applied_tags {
                self.posts.put(channel.id, ForumPost { title: channel.name, tags });
            }
        }
    }

    /// Returns the heading of a post's first message, which has the id of the post (Discord API,
    /// "Start Thread in Forum or Media Channel").
    pub(super) fn heading(
        &self,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Option<String> {
        let is_first = message.id.get() == message.channel_id.get();
        let is_thread = matches!(channel_type, DiscordChannel::Thread { .. });
        let post = self.posts.peek(&message.channel_id).filter(|_| is_first && is_thread)?;
        let tags = post.tags.iter().filter_map(|tag| self.tags.peek(tag)).cloned().collect();
        Some(PostHeading { title: post.title.clone(), tags }.to_string())
    }
}
