//! The messages in channels, of the bot and of users.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::Value;

use super::components;
use super::draft::EPHEMERAL;
use super::mentions::{Mention, mentions};

/// Lifetime of an enforced nonce: "the past few minutes" (Create Message, API reference).
pub const NONCE_KEPT: Duration = Duration::from_secs(5 * 60);

/// A message in its channel.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscordMessage {
    /// The channel, or the thread.
    pub channel: u64,
    /// The id, unique in all channels.
    pub id: u64,
    /// The id of the author.
    pub author: u64,
    /// The time of creation.
    pub at: Timestamp,
    /// The client's nonce.
    pub nonce: Option<String>,
    /// The message that it replies to.
    pub reply_to: Option<u64>,
    /// `true` if the reply mentions the author of that message.
    pub pings: bool,
    /// The text, after the last edit.
    pub text: String,
    /// Action rows with buttons.
    pub components: Vec<Value>,
    /// Embeds.
    pub embeds: Vec<Value>,
    /// The poll.
    pub poll: Option<Value>,
    /// Message flags: 4 is "no embeds", 64 is "for one user only".
    pub flags: u64,
    /// Files.
    pub files: Vec<Attachment>,
    /// The texts before each edit, the oldest first.
    pub edits: Vec<String>,
    /// The time of the last edit.
    pub edited_at: Option<Timestamp>,
    /// `true` if it was deleted.
    pub deleted: bool,
    /// The interaction that it answers.
    pub interaction: Option<u64>,
    /// Additional or replaced fields in the platform's format.
    pub(super) more: Value,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its media type.
    pub media_type: Option<String>,
    /// The size in bytes that the platform reports.
    pub size: u64,
    /// The content of a download.
    pub bytes: Arc<[u8]>,
}

/// A record that the bot created a message. It stays after later changes of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The id of the channel.
    pub channel: u64,
    /// The id of the message.
    pub id: u64,
    /// The nonce.
    pub nonce: Option<String>,
    /// The text at that time.
    pub text: String,
    /// The platform's time.
    pub at: Timestamp,
}

/// A message of the bot with a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mentioned {
    /// The id of the channel.
    pub channel: u64,
    /// The id of the message.
    pub id: u64,
    /// The notified users and roles.
    pub who: Vec<Mention>,
}

impl DiscordMessage {
    /// Returns the buttons below it, in reading order.
    #[must_use]
    pub fn buttons(&self) -> Vec<Value> {
        components::buttons(&self.components)
    }

    /// Returns `true` if only one user sees it. It is not in the channel's history.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.flags & EPHEMERAL != 0
    }

    /// Returns the mentions in its text.
    pub(super) fn mentions(&self) -> Vec<Mention> {
        mentions(&self.text)
    }
}

/// All messages, and their nonces.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The bot's messages, in order.
    pub(super) sent: Vec<DiscordMessage>,
    /// The users' messages, in order.
    pub(super) heard: Vec<DiscordMessage>,
    pub(super) created: Vec<Created>,
    pub(super) mentioned: Vec<Mentioned>,
    nonces: BTreeMap<(u64, String), (u64, Timestamp)>,
}

impl Messages {
    /// Returns a message unless it has been deleted.
    pub(super) fn find(&self, channel: u64, id: u64) -> Option<&DiscordMessage> {
        let found = [&self.sent, &self.heard].into_iter().find_map(|messages| {
            let place = messages.binary_search_by_key(&id, |message| message.id).ok()?;
            messages.get(place)
        });
        found.filter(|message| message.channel == channel && !message.deleted)
    }

    pub(super) fn find_mut(&mut self, channel: u64, id: u64) -> Option<&mut DiscordMessage> {
        let found = [&mut self.sent, &mut self.heard].into_iter().find_map(|messages| {
            let place = messages.binary_search_by_key(&id, |message| message.id).ok()?;
            messages.get_mut(place)
        });
        found.filter(|message| message.channel == channel && !message.deleted)
    }

    /// Returns the channel of a message.
    pub(super) fn channel_of(&self, id: u64) -> Option<u64> {
        let mut all = self.sent.iter().chain(&self.heard);
        all.find(|message| message.id == id).map(|message| message.channel)
    }

    /// Returns the visible messages of a channel, the oldest first.
    pub(super) fn history(&self, channel: u64) -> Vec<&DiscordMessage> {
        let is_shown = |message: &&DiscordMessage| {
            message.channel == channel && !message.deleted && !message.is_ephemeral()
        };
        let mut shown: Vec<&DiscordMessage> =
            self.sent.iter().chain(&self.heard).filter(is_shown).collect();
        shown.sort_by_key(|message| message.id);
        shown
    }

    /// Adds a message of the bot.
    pub(super) fn send(&mut self, message: DiscordMessage) {
        let DiscordMessage { channel, id, at, nonce, text, .. } = message.clone();
        if let Some(nonce) = &nonce {
            self.nonces.insert((channel, nonce.clone()), (id, at));
        }
        self.created.push(Created { channel, id, nonce, text, at });
        self.sent.push(message);
    }

    /// Returns the message with this nonce, during the lifetime of the nonce.
    pub(super) fn by_nonce(
        &self,
        channel: u64,
        nonce: &str,
        now: Timestamp,
    ) -> Option<&DiscordMessage> {
        let (id, at) = self.nonces.get(&(channel, nonce.to_owned()))?;
        let is_kept = at.until(now) < NONCE_KEPT;
        self.find(channel, *id).filter(|_| is_kept)
    }
}
