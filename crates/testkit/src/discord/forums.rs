//! Forums, and the posts that the bot makes there (Start Thread in Forum or Media Channel, API reference).

use serde_json::{Value, json};

use super::content_access::ContentAccess;
use super::draft::{MessageFields, MessageRules};
use super::error::ApiError;
use super::events::GUILDS;
use super::form::{FormErrors, length};
use super::forum_tags::Forum;
use super::platform::{ApiReply, MethodResult, PlatformState};
use super::rest::ParsedRequest;
use super::sending::empty;
use super::snowflake::iso;
use super::threads::THREAD_NAME_LIMIT;
use super::world::{Channel, DiscordChannelKind, World, merge};

/// Maximum number of tags of a post.
pub const POST_TAG_LIMIT: usize = 5;
const PAGE_LIMIT: u64 = 100;

impl World {
    /// Returns the names of a post's tags.
    pub(super) fn tags_of(&self, post: u64) -> Vec<String> {
        let all = self.forums.values();
        let of_post = all.flat_map(|forum| {
            let applied = forum.posts.iter().filter(|(id, _)| *id == post);
            applied.flat_map(|(_, applied)| {
                applied.iter().filter_map(|id| forum.tags.iter().find(|(tag, _)| tag == id))
            })
        });
        of_post.map(|(_, name)| name.clone()).collect()
    }
}

impl PlatformState {
    pub(super) fn add_forum(&mut self, guild: u64, name: &str, tags: &[&str]) -> u64 {
        let id = self.next_id();
        let tags = tags.iter().map(|tag| (self.next_id(), (*tag).to_owned())).collect();
        self.world.forums.insert(id, Forum { tags, ..Forum::default() });
        self.world.add_channel(id, name, DiscordChannelKind::Forum { guild });
        let body = self.world.channel(&self.world.channels[&id]);
        self.dispatch("CHANNEL_CREATE", GUILDS, |_| body.clone());
        id
    }

    /// Makes a post. Its first message has the id of the post. A nonce is ignored, as the platform
    /// does.
    pub(super) fn create_post(&mut self, call: &ParsedRequest) -> MethodResult {
        let parent = self.world.writable(call.major)?;
        let DiscordChannelKind::Forum { guild } = parent.place else {
            return Err(ApiError::new(400, 50_024, "Cannot execute action on this channel type"));
        };
        let parent = parent.id;
        let name = call.body["name"].as_str().unwrap_or_default().trim();
        let mut errors = FormErrors::default();
        errors.one_to("name", length(name), THREAD_NAME_LIMIT);
        if !call.body["message"].is_object() {
            errors.required("message");
        }
        let given = call.body["applied_tags"].as_array().cloned().unwrap_or_default();
        errors.at_most("applied_tags", given.len(), POST_TAG_LIMIT);
        let forum = &self.world.forums[&parent];
        let known = |tag: &Value| {
            let id = tag.as_str().and_then(|id| id.parse().ok());
            id.filter(|id| forum.tags.iter().any(|(tag, _)| tag == id))
        };
        let tags: Vec<u64> = given.iter().filter_map(known).collect();
        if tags.len() < given.len() {
            errors.add("applied_tags", "INVALID_TAG", "Unknown tag");
        }
        errors.finish()?;
        if forum.requires_tag && tags.is_empty() {
            let why = "A tag is required to create a forum post in this channel";
            return Err(ApiError::new(400, 40_067, why));
        }
        let file_size = self.world.boosted_limit(parent).unwrap_or(self.rules.file_size);
        let rules = MessageRules { file_size, ..self.rules };
        let draft = MessageFields::read(call, &call.body["message"], rules)?;
        // The platform ignores a poll there.
        let draft = MessageFields { nonce: None, enforce_nonce: false, poll: None, ..draft };
        if draft.is_empty() {
            return Err(empty());
        }
        let id = self.next_id();
        self.world.add_channel(id, name, DiscordChannelKind::Thread { guild, parent });
        let post = self.world.channels.get_mut(&id).expect("it was just added");
        (post.is_bots, post.joined) = (true, true);
        let forum = self.world.forums.get_mut(&parent).expect("it has been read");
        forum.posts.push((id, tags));
        self.set_last_message(parent, id);
        let mut body = self.world.channel(&self.world.channels[&id]);
        let mut event = body.clone();
        merge(&mut event, &json!({ "newly_created": true }));
        self.dispatch("THREAD_CREATE", GUILDS, |_| event.clone());
        self.send_as(id, id, draft, None);
        let message = self.messages.sent.last().expect("it was just sent");
        body["message"] = self.message(message, ContentAccess::Granted);
        Ok(ApiReply::Json(body))
    }

    /// Returns a page of archived threads, the last archived first.
    pub(super) fn archived_threads(&self, call: &ParsedRequest) -> MethodResult {
        let parent = self.world.readable(call.major)?.id;
        if !self.world.may_read_past(parent) {
            return Err(ApiError::missing_permissions());
        }
        let limit = call.number("limit", "int")?.unwrap_or(PAGE_LIMIT);
        let mut errors = FormErrors::default();
        if !(2..=PAGE_LIMIT).contains(&limit) {
            errors.add("limit", "NUMBER_TYPE_MAX", "int value should be between 2 and 100.");
        }
        errors.finish()?;
        let is_of = |channel: &&Channel| {
            let is_before = call
                .query
                .get("before")
                .is_none_or(|before| iso(channel.archived_at).as_str() < before.as_str());
            channel.archived
                && is_before
                && matches!(channel.place, DiscordChannelKind::Thread { parent: of, .. } if of == parent)
        };
        let mut found: Vec<_> = self.world.channels.values().filter(is_of).collect();
        found.sort_by_key(|channel| std::cmp::Reverse(channel.archived_at));
        let limit = usize::try_from(limit).unwrap_or_default();
        let has_more = found.len() > limit;
        let threads: Vec<Value> =
            found.into_iter().take(limit).map(|channel| self.world.channel(channel)).collect();
        Ok(ApiReply::Json(json!({ "threads": threads, "members": [], "has_more": has_more })))
    }
}

#[cfg(test)]
#[path = "forums_tests.rs"]
mod tests;
