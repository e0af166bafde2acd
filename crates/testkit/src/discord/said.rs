//! Actions of users, and the resulting changes of guilds, channels and messages.

use serde_json::{Value, json};

use super::events::GUILDS;
use super::messages::{Attachment, DiscordMessage};
use super::platform::PlatformState;
use super::world::{Closed, DiscordChannelKind, Guild, User, merge};

/// A user's message before it is in its channel.
#[derive(Debug, Clone)]
pub struct UserMessage {
    channel: u64,
    user: u64,
    text: String,
    reply_to: Option<u64>,
    /// Files without their ids.
    files: Vec<Attachment>,
    more: Value,
    is_bot: bool,
    mentions_bot: bool,
    pings: bool,
}

impl UserMessage {
    /// Returns a text in a channel, a thread or direct messages.
    #[must_use]
    pub fn new(channel: u64, user: u64, text: &str) -> Self {
        let (reply_to, files, more) = (None, Vec::new(), json!({}));
        let text = text.to_owned();
        let (is_bot, mentions_bot, pings) = (false, false, true);
        Self { channel, user, text, reply_to, files, more, is_bot, mentions_bot, pings }
    }

    /// Puts a mention of the bot at the beginning.
    #[must_use]
    pub fn mention(self) -> Self {
        Self { mentions_bot: true, ..self }
    }

    /// Makes it a reply to a message of the same channel. The reply mentions the author of that
    /// message.
    #[must_use]
    pub fn reply_to(self, message: u64) -> Self {
        Self { reply_to: Some(message), ..self }
    }

    /// Switches off the mention of the author.
    #[must_use]
    pub fn without_ping(self) -> Self {
        Self { pings: false, ..self }
    }

    /// Makes its author a bot.
    #[must_use]
    pub fn by_bot(self) -> Self {
        Self { is_bot: true, ..self }
    }

    /// Adds a file.
    #[must_use]
    pub fn file(self, name: &str, media_type: &str, bytes: &[u8]) -> Self {
        let size = u64::try_from(bytes.len()).unwrap();
        self.file_of_size(name, media_type, size, bytes)
    }

    /// Adds a file with this reported size in bytes, right or wrong.
    #[must_use]
    pub fn file_of_size(mut self, name: &str, media_type: &str, size: u64, bytes: &[u8]) -> Self {
        let (name, media_type) = (name.to_owned(), Some(media_type.to_owned()));
        self.files.push(Attachment { id: 0, name, media_type, size, bytes: bytes.into() });
        self
    }

    /// Sets a field, for example `("type", 7.into())`.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.more[field] = value;
        self
    }
}

impl PlatformState {
    /// Adds a user's message and returns its id.
    pub(super) fn say(&mut self, said: UserMessage) -> u64 {
        let UserMessage { channel, user, reply_to, files, more, .. } = said;
        assert!(self.world.channels.contains_key(&channel), "no channel {channel}");
        self.know(user, said.is_bot);
        let text = if said.mentions_bot {
            format!("<@{}> {}", self.world.me.id, said.text)
        } else {
            said.text
        };
        let id = self.next_id();
        let mut files = files;
        for file in &mut files {
            file.id = self.next_id();
        }
        let message = DiscordMessage {
            channel,
            id,
            author: user,
            at: self.now,
            nonce: None,
            reply_to,
            pings: said.pings,
            text,
            components: Vec::new(),
            embeds: Vec::new(),
            poll: None,
            flags: 0,
            files,
            edits: Vec::new(),
            edited_at: None,
            deleted: false,
            interaction: None,
            more,
        };
        self.unarchive(channel);
        self.set_last_message(channel, id);
        self.messages.heard.push(message.clone());
        self.tell_message("MESSAGE_CREATE", &message);
        id
    }

    /// Changes the text of a message.
    pub(super) fn hear_edit(&mut self, id: u64, text: &str) {
        let (channel, now) = (self.channel_of(id), self.now);
        let message = self.messages.find_mut(channel, id).expect("an edit of what is there");
        message.edits.push(std::mem::replace(&mut message.text, text.to_owned()));
        message.edited_at = Some(now);
        let message = message.clone();
        self.tell_message("MESSAGE_UPDATE", &message);
    }

    /// Adds a preview of a link to a message: an update, but not an edit.
    pub(super) fn unfurl(&mut self, id: u64, embed: &Value) {
        let channel = self.channel_of(id);
        let message = self.messages.find_mut(channel, id).expect("it is there");
        message.embeds.push(embed.clone());
        let message = message.clone();
        self.tell_message("MESSAGE_UPDATE", &message);
    }

    /// Deletes a message of any author.
    pub(super) fn hear_delete(&mut self, id: u64) {
        let channel = self.channel_of(id);
        self.messages.find_mut(channel, id).expect("it is there").deleted = true;
        self.tell_deleted(channel, id);
    }

    fn channel_of(&self, message: u64) -> u64 {
        self.messages.channel_of(message).expect("a message that was said")
    }

    /// Adds a user with a name.
    pub(super) fn add_user(&mut self, name: &str) -> u64 {
        let id = self.next_id();
        self.world.users.insert(id, User { id, name: name.to_owned(), is_bot: false });
        id
    }

    fn know(&mut self, id: u64, is_bot: bool) {
        let user = self.world.users.entry(id).or_insert_with(|| User::unnamed(id));
        user.is_bot |= is_bot;
    }

    /// Adds a guild that the bot belongs to.
    pub(super) fn add_guild(&mut self, name: &str) -> u64 {
        let id = self.next_id();
        self.world.guilds.insert(id, Guild { id, name: name.to_owned(), tier: 0, left: false });
        let body = self.world.guild_create(&self.world.guilds[&id]);
        self.dispatch("GUILD_CREATE", GUILDS, |_| body.clone());
        id
    }

    /// Boosts a guild to this tier.
    pub(super) fn boost(&mut self, guild: u64, tier: u8) {
        self.world.guilds.get_mut(&guild).expect("a guild").tier = tier;
        let mut body = self.world.guild_create(&self.world.guilds[&guild]);
        // "GUILD_UPDATE: a guild object", without the fields that only GUILD_CREATE has.
        for only in ["joined_at", "channels", "threads", "members", "member_count", "unavailable"] {
            body.as_object_mut().unwrap().remove(only);
        }
        self.dispatch("GUILD_UPDATE", GUILDS, |_| body.clone());
    }

    /// Removes the bot from a guild, or adds it again.
    pub(super) fn set_left(&mut self, guild: u64, left: bool) {
        self.world.guilds.get_mut(&guild).expect("a guild").left = left;
        if left {
            let body = json!({ "id": guild.to_string() });
            return self.dispatch("GUILD_DELETE", GUILDS, |_| body.clone());
        }
        let body = self.world.guild_create(&self.world.guilds[&guild]);
        self.dispatch("GUILD_CREATE", GUILDS, |_| body.clone());
    }

    /// Adds a channel or a thread.
    pub(super) fn add_channel(&mut self, name: &str, place: DiscordChannelKind) -> u64 {
        let id = self.next_id();
        self.world.add_channel(id, name, place);
        let mut body = self.world.channel(&self.world.channels[&id]);
        let kind = match place {
            DiscordChannelKind::Thread { .. } => {
                merge(&mut body, &json!({ "newly_created": true }));
                "THREAD_CREATE"
            }
            _ => "CHANNEL_CREATE",
        };
        self.dispatch(kind, GUILDS, |_| body.clone());
        id
    }

    /// Archives a thread, or makes it active again.
    pub(super) fn set_archived(&mut self, thread: u64, archived: bool) {
        let found = self.world.channels.get_mut(&thread).expect("a thread");
        assert!(
            matches!(found.place, DiscordChannelKind::Thread { .. }),
            "only threads are archived"
        );
        found.archived = archived;
        found.archived_at = self.now;
        let body = self.world.channel(&self.world.channels[&thread]);
        self.dispatch("THREAD_UPDATE", GUILDS, |_| body.clone());
    }

    /// Sending a message unarchives a thread (Threads, "Active & Archived Threads").
    pub(super) fn unarchive(&mut self, channel: u64) {
        if self.world.channels[&channel].archived {
            self.set_archived(channel, false);
        }
    }

    /// Changes the permissions of the bot in a channel.
    pub(super) fn set_closed(&mut self, channel: u64, closed: Option<Closed>) {
        let found = self.world.channels.get_mut(&channel).expect("a channel");
        found.closed = closed;
        if closed != Some(Closed::Deleted) {
            return;
        }
        let body = self.world.channel(&self.world.channels[&channel]);
        let is_thread =
            matches!(self.world.channels[&channel].place, DiscordChannelKind::Thread { .. });
        let kind = if is_thread { "THREAD_DELETE" } else { "CHANNEL_DELETE" };
        self.dispatch(kind, GUILDS, |_| body.clone());
    }
}
