//! Users, guilds, channels and threads.

use std::collections::{BTreeMap, BTreeSet};

use avocet_protocol::clock::Timestamp;
use serde_json::{Value, json};

use super::error::ApiError;
use super::forum_tags::Forum;
use super::snowflake::iso;
use crate::START;

/// The permissions of the bot: everything that this fake supports.
const PERMISSIONS: &str = "2248473465835073";

#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) is_bot: bool,
}

impl User {
    /// Returns a user of whom only the id is known.
    pub(super) fn unnamed(id: u64) -> Self {
        Self { id, name: format!("user{id}"), is_bot: false }
    }
}

#[derive(Debug)]
pub(super) struct Guild {
    pub(super) id: u64,
    pub(super) name: String,
    /// The boost tier, from 0 to 3.
    pub(super) tier: u8,
    /// `true` if the bot was removed.
    pub(super) left: bool,
}

/// The kind of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiscordChannelKind {
    Text { guild: u64 },
    Forum { guild: u64 },
    Thread { guild: u64, parent: u64 },
    Dm { user: u64 },
}

/// The reason why the bot's permissions in a channel are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// The channel is hidden.
    Hidden,
    /// The channel is read-only.
    Muted,
    /// The history is hidden.
    Past,
    /// The user accepts no messages from the bot.
    Blocked,
    /// The channel was deleted.
    Deleted,
}

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) place: DiscordChannelKind,
    pub(super) closed: Option<Closed>,
    /// `true` for a thread that is not active.
    pub(super) archived: bool,
    /// The time of the last change between active and archived.
    pub(super) archived_at: Timestamp,
    /// `true` for a thread that the bot has started.
    pub(super) is_bots: bool,
    /// `true` for a thread in which the bot has written.
    pub(super) joined: bool,
    pub(super) last_message: Option<u64>,
}

impl Channel {
    pub(super) fn guild(&self) -> Option<u64> {
        match self.place {
            DiscordChannelKind::Text { guild }
            | DiscordChannelKind::Forum { guild }
            | DiscordChannelKind::Thread { guild, .. } => Some(guild),
            DiscordChannelKind::Dm { .. } => None,
        }
    }
}

/// All state except messages.
#[derive(Debug)]
pub(super) struct World {
    pub(super) me: User,
    pub(super) users: BTreeMap<u64, User>,
    pub(super) guilds: BTreeMap<u64, Guild>,
    pub(super) channels: BTreeMap<u64, Channel>,
    /// The tags of the forums.
    pub(super) forums: BTreeMap<u64, Forum>,
    /// The roles of members: guild, user, role.
    pub(super) roles: BTreeSet<(u64, u64, u64)>,
}

impl World {
    pub(super) fn new(me: User) -> Self {
        let users = BTreeMap::from([(me.id, me.clone())]);
        let (guilds, channels) = (BTreeMap::new(), BTreeMap::new());
        let (forums, roles) = (BTreeMap::new(), BTreeSet::new());
        Self { me, users, guilds, channels, forums, roles }
    }

    pub(super) fn add_channel(&mut self, id: u64, name: &str, place: DiscordChannelKind) {
        let name = name.to_owned();
        let channel = Channel {
            id,
            name,
            place,
            closed: None,
            archived: false,
            archived_at: START,
            is_bots: false,
            joined: false,
            last_message: None,
        };
        self.channels.insert(id, channel);
    }

    /// Returns the direct messages with this user.
    pub(super) fn dm(&self, user: u64) -> Option<u64> {
        let is_it = |channel: &&Channel| channel.place == DiscordChannelKind::Dm { user };
        self.channels.values().find(is_it).map(|channel| channel.id)
    }

    /// Returns the maximum size of a file in bytes, if the guild's boosts raise it.
    pub(super) fn boosted_limit(&self, channel: u64) -> Option<usize> {
        const MEGABYTE: usize = 1024 * 1024;
        let guild = self.channels.get(&channel)?.guild()?;
        match self.guilds[&guild].tier {
            2 => Some(50 * MEGABYTE),
            3 => Some(100 * MEGABYTE),
            _ => None,
        }
    }

    /// Returns a channel that the bot can read.
    pub(super) fn readable(&self, id: u64) -> Result<&Channel, ApiError> {
        let found = self.channels.get(&id).ok_or_else(ApiError::unknown_channel)?;
        let left = found.guild().is_some_and(|guild| self.guilds[&guild].left);
        match found.closed {
            Some(Closed::Deleted) => Err(ApiError::unknown_channel()),
            Some(Closed::Hidden) => Err(ApiError::missing_access()),
            _ if left => Err(ApiError::missing_access()),
            _ => Ok(found),
        }
    }

    /// Returns a channel that the bot can write to. A thread has the limits of its channel, too.
    pub(super) fn writable(&self, id: u64) -> Result<&Channel, ApiError> {
        let found = self.readable(id)?;
        if let DiscordChannelKind::Thread { parent, .. } = found.place {
            self.writable(parent)?;
        }
        match found.closed {
            Some(Closed::Muted) => Err(ApiError::missing_permissions()),
            Some(Closed::Blocked) => Err(ApiError::cannot_send_to_user()),
            _ => Ok(found),
        }
    }

    /// Returns `true` if the bot may read the history. A thread has the limits of its channel, too.
    pub(super) fn may_read_past(&self, id: u64) -> bool {
        self.channels.get(&id).is_none_or(|channel| {
            let parent = match channel.place {
                DiscordChannelKind::Thread { parent, .. } => Some(parent),
                _ => None,
            };
            channel.closed != Some(Closed::Past)
                && parent.is_none_or(|parent| self.may_read_past(parent))
        })
    }

    /// Returns a guild that the bot belongs to.
    pub(super) fn guild(&self, id: u64) -> Result<&Guild, ApiError> {
        let found = self.guilds.get(&id).filter(|guild| !guild.left);
        found.ok_or_else(|| ApiError::new(404, 10004, "Unknown Guild"))
    }

    /// Returns the listed channels of a guild, without its threads.
    pub(super) fn channels_of(&self, guild: u64) -> Vec<Value> {
        self.listed(guild, |kind| !matches!(kind, DiscordChannelKind::Thread { .. }))
    }

    /// Returns the active threads of a guild.
    pub(super) fn threads_of(&self, guild: u64) -> Vec<Value> {
        self.listed(guild, |kind| matches!(kind, DiscordChannelKind::Thread { .. }))
    }

    fn listed(&self, guild: u64, is_wanted: fn(&DiscordChannelKind) -> bool) -> Vec<Value> {
        let is_of = |channel: &&Channel| {
            channel.guild() == Some(guild)
                && is_wanted(&channel.place)
                && !channel.archived
                && !matches!(channel.closed, Some(Closed::Hidden | Closed::Deleted))
        };
        self.channels.values().filter(is_of).map(|channel| self.channel(channel)).collect()
    }

    /// Returns a user in the platform's format. Any id is a user, also without an entry.
    pub(super) fn user(&self, id: u64) -> Value {
        let known = self.users.get(&id).cloned();
        let User { name, is_bot, .. } = known.unwrap_or_else(|| User::unnamed(id));
        json!({ "id": id.to_string(), "username": name, "discriminator": "0",
            "global_name": name, "avatar": null, "bot": is_bot, "system": false,
            "public_flags": 0 })
    }

    /// Returns a user as a member of a guild, with the roles there.
    pub(super) fn member_of(&self, guild: u64, user: u64) -> Value {
        let of_user = self.roles.iter().filter(|(of, member, _)| (*of, *member) == (guild, user));
        let roles: Vec<String> = of_user.map(|(_, _, role)| role.to_string()).collect();
        with(Self::member(), &json!({ "roles": roles }))
    }

    fn member() -> Value {
        json!({ "nick": null, "avatar": null, "roles": [], "joined_at": iso(START), "deaf": false,
            "mute": false, "flags": 0, "pending": false, "premium_since": null,
            "communication_disabled_until": null })
    }

    /// Returns a channel in the platform's format.
    pub(super) fn channel(&self, channel: &Channel) -> Value {
        let mut described = json!({ "id": channel.id.to_string(), "flags": 0,
            "last_message_id": channel.last_message.map(|id| id.to_string()) });
        let more = match channel.place {
            DiscordChannelKind::Dm { user } => {
                json!({ "type": 1, "recipients": [self.user(user)] })
            }
            DiscordChannelKind::Text { guild } => json!({ "type": 0, "guild_id": guild.to_string(),
                "name": channel.name, "position": 0, "topic": null, "nsfw": false,
                "parent_id": null, "permission_overwrites": [], "rate_limit_per_user": 0 }),
            DiscordChannelKind::Forum { guild } => {
                let forum = self.forums.get(&channel.id).expect("a forum has its tags");
                json!({ "type": 15, "guild_id": guild.to_string(), "name": channel.name,
                    "position": 0, "topic": null, "nsfw": false, "parent_id": null,
                    "permission_overwrites": [], "rate_limit_per_user": 0,
                    "flags": forum.flags(), "available_tags": forum.described_tags() })
            }
            DiscordChannelKind::Thread { guild, parent } => {
                let owner = if channel.is_bots { self.me.id } else { 1 };
                let member = channel.joined.then(|| {
                    json!({ "id": channel.id.to_string(), "user_id": self.me.id.to_string(),
                        "join_timestamp": iso(START), "flags": 0 })
                });
                let member = member.map_or_else(|| json!({}), |member| json!({ "member": member }));
                merge(&mut described, &member);
                json!({ "type": 11, "guild_id": guild.to_string(),
                    "name": channel.name, "parent_id": parent.to_string(),
                    "owner_id": owner.to_string(), "message_count": 0, "member_count": 1,
                    "rate_limit_per_user": 0, "total_message_sent": 0,
                    "thread_metadata": { "archived": channel.archived, "auto_archive_duration": 1440,
                        "archive_timestamp": iso(channel.archived_at), "locked": false } })
            }
        };
        merge(&mut described, &more);
        described
    }

    /// Returns a guild in the format of `GUILD_CREATE`.
    pub(super) fn guild_create(&self, guild: &Guild) -> Value {
        let member = with(Self::member(), &json!({ "user": self.user(self.me.id) }));
        json!({ "id": guild.id.to_string(), "name": guild.name, "icon": null, "splash": null,
            "discovery_splash": null, "owner_id": "1", "afk_channel_id": null,
            "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
            "explicit_content_filter": 0, "roles": [self.everyone(guild)], "emojis": [],
            "features": [], "mfa_level": 0, "application_id": null, "system_channel_id": null,
            "system_channel_flags": 0, "rules_channel_id": null, "vanity_url_code": null,
            "description": null, "banner": null, "premium_tier": guild.tier,
            "premium_subscription_count": 0, "preferred_locale": "en-US",
            "public_updates_channel_id": null, "nsfw_level": 0, "stickers": [],
            "premium_progress_bar_enabled": false, "joined_at": iso(START), "large": false,
            "unavailable": false, "member_count": 2, "voice_states": [], "members": [member],
            "channels": self.channels_of(guild.id),
            "threads": self.threads_of(guild.id), "presences": [], "stage_instances": [],
            "guild_scheduled_events": [] })
    }

    /// Returns the guilds of the bot in the format of the list.
    pub(super) fn my_guilds(&self) -> Value {
        let here = self.guilds.values().filter(|guild| !guild.left);
        here.map(|guild| {
            json!({ "id": guild.id.to_string(), "name": guild.name, "icon": null, "owner": false,
                "permissions": PERMISSIONS, "features": [] })
        })
        .collect()
    }

    /// Returns the role `@everyone`.
    fn everyone(&self, guild: &Guild) -> Value {
        json!({ "id": guild.id.to_string(), "name": "@everyone", "color": 0,
            "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null },
            "hoist": false, "icon": null, "unicode_emoji": null, "position": 0,
            "permissions": PERMISSIONS, "managed": false, "mentionable": false, "flags": 0 })
    }
}

/// Puts the fields of `more` into `object`.
pub(super) fn merge(object: &mut Value, more: &Value) {
    let more = more.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(more);
}

/// Returns `object` with the fields of `more`.
pub(super) fn with(mut object: Value, more: &Value) -> Value {
    merge(&mut object, more);
    object
}
