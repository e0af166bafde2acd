//! Posts in forums. A forum takes no plain messages: the first chunk of a message becomes a post,
//! and the later chunks go into the post.
//!
//! The platform takes no nonce with a post. So a repeated send first looks for the post of the
//! earlier send.

mod find_post;

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{ChatAddress, Content, Delivery};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use serenity::model::id::{ChannelId, ForumTagId, GuildId};

use crate::channels::ChannelInfo;
use crate::discord::threads::not_sent;
use crate::fault::RestError;
use crate::lenient::readable_items;
use crate::post_heading::PostHeading;
use crate::routes::Route;
use crate::sent_message::SentMessage;
use crate::{Discord, compose};

/// Codes of refusals (Discord API, "JSON Error Codes").
const NOT_A_TEXT_CHANNEL: isize = 50_008;
const TAG_REQUIRED: isize = 40_067;
/// Most tags of a post (Discord API, "Start Thread in Forum or Media Channel").
const MAX_TAGS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkTarget {
    /// A channel or a thread.
    Channel(ChannelId),
    /// A new post of this forum.
    NewPost(ChannelId),
}

/// The used fields of a forum (Discord API, "Channel Object").
#[derive(Deserialize)]
struct ForumInfo {
    guild_id: GuildId,
    #[serde(default, deserialize_with = "readable_items")]
    available_tags: Vec<ForumTag>,
}

#[derive(Deserialize)]
struct ForumTag {
    id: ForumTagId,
    name: String,
}

impl Discord {
    /// Returns `true` for the address of a known forum, and for that of a post in it.
    pub(crate) fn is_in_forum(&self, address: &ChatAddress) -> bool {
        address.chat.as_str().parse().is_ok_and(|forum| self.forums.contains(forum))
    }

    /// Returns the target of a chunk that is addressed to `channel`.
    pub(crate) async fn chunk_target(
        &self,
        channel: ChannelId,
        delivery: &Delivery,
    ) -> Result<ChunkTarget, SendError> {
        if delivery.address.topic.is_some() || !self.is_forum(channel, delivery).await? {
            return Ok(ChunkTarget::Channel(channel));
        }
        // The first message of a post has the id of the post (Discord API, "Start Thread in Forum
        // or Media Channel").
        match delivery.first_chunk.as_ref().or(delivery.shown_as.as_ref()) {
            Some(first) => {
                first.as_str().parse().map(ChunkTarget::Channel).map_err(|_| SendError::Gone)
            }
            None => Ok(ChunkTarget::NewPost(channel)),
        }
    }

    /// Returns `true` for a forum. If the gateway has not described the channel yet, the platform
    /// is asked only before a repeated send: the earlier send may have made a post. The platform
    /// refuses a first send to an unknown forum.
    async fn is_forum(&self, channel: ChannelId, delivery: &Delivery) -> Result<bool, SendError> {
        if self.is_in_forum(&delivery.address) {
            return Ok(true);
        }
        if delivery.first_sent_at.is_none() {
            return Ok(false);
        }
        match self.rest.get::<ChannelInfo>(Route::Channel { channel_id: channel }).await {
            Ok(info) if !info.has_messages() => {
                self.forums.insert(channel);
                Ok(true)
            }
            Ok(_) | Err(RestError::Refused(_)) => Ok(false),
            Err(fault) => Err(self.outcome(&fault)),
        }
    }

    /// Notes that a channel is a forum, if it has refused a message for that reason.
    pub(crate) fn learn_forum(&self, channel: ChannelId, fault: &RestError) -> Option<SendError> {
        if !fault.is_refused_with(NOT_A_TEXT_CHANNEL) {
            return None;
        }
        self.forums.insert(channel);
        Some(SendError::Failed(format!("{fault}; the next attempt makes a post of a forum")))
    }

    /// Makes a post of the first chunk of a message, unless an earlier send has made it. Returns
    /// the first message of the post.
    pub(crate) async fn post(
        &self,
        forum: ChannelId,
        delivery: &Delivery,
    ) -> Result<SentMessage, SendError> {
        if delivery.content.poll.is_some() {
            return Err(SendError::Refused(
                "a forum of Discord takes no poll: send it into a post".to_owned(),
            ));
        }
        let (heading, body) = PostHeading::split(&delivery.content.text);
        let body = if body.is_empty() { &heading.title } else { body };
        let content = Content { text: body.to_owned(), ..delivery.content.clone() };
        let text = compose::text(&content, delivery.repeat);
        if let Some(sent) = self.find_post(forum, &heading.title, delivery, &text).await? {
            return Ok(sent);
        }
        self.rest.limits.check(forum, self.clock.elapsed())?;
        let mut post = json!({ "name": heading.title, "message": compose::draft(delivery, &text, false, None) });
        if !heading.tags.is_empty() {
            post["applied_tags"] = json!(self.tags(forum, &heading.tags).await?);
        }
        let route = Route::ChannelThreads { channel_id: forum };
        let answer = match &delivery.files[..] {
            [] => self.rest.send(Method::POST, route, &post).await,
            files => self.rest.upload(route, &post, files).await,
        };
        let answer = match answer {
            Err(fault) if fault.is_refused_with(TAG_REQUIRED) => {
                return Err(self.missing_tag(forum, &fault).await);
            }
            answer => answer.map_err(|fault| self.outcome(&fault))?,
        };
        self.note_sent(forum, &answer);
        answer.read_sent().map_err(|fault| self.outcome(&fault))
    }

    /// Returns the ids of a forum's tags. A tag that the forum lacks is left out.
    async fn tags(&self, forum: ChannelId, names: &[String]) -> Result<Vec<ForumTagId>, SendError> {
        let info = self.forum_info(forum).await.map_err(|fault| not_sent(&fault))?;
        let mut ids = Vec::new();
        for name in names {
            let has_name = |tag: &&ForumTag| tag.name.to_lowercase() == name.to_lowercase();
            match info.available_tags.iter().find(has_name) {
                Some(tag) if !ids.contains(&tag.id) && ids.len() < MAX_TAGS => ids.push(tag.id),
                Some(_) => {}
                None => tracing::warn!(channel = %forum, tag = name, known = info.tag_names(),
                    "the forum lacks a tag of the post; the post is sent without the tag"),
            }
        }
        Ok(ids)
    }

    async fn missing_tag(&self, forum: ChannelId, fault: &RestError) -> SendError {
        match self.forum_info(forum).await {
            Ok(info) => SendError::Refused(format!(
                "the forum takes only posts with a tag: begin the message with the line `[post: \
                 TITLE; tags: TAG]`; the forum's tags are {} ({fault})",
                info.tag_names()
            )),
            Err(fault) => not_sent(&fault),
        }
    }

    async fn forum_info(&self, forum: ChannelId) -> Result<ForumInfo, RestError> {
        self.rest.get(Route::Channel { channel_id: forum }).await
    }
}

impl ForumInfo {
    fn tag_names(&self) -> String {
        let names: Vec<&str> = self.available_tags.iter().map(|tag| tag.name.as_str()).collect();
        names.join(", ")
    }
}
