//! What is said in channels, by the bot and by people.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::Timestamp;
use serde_json::Value;

use super::components;
use super::draft::EPHEMERAL;
use super::mentions::{Mention, mentions};

/// How long an enforced nonce is remembered: "the past few minutes" (Create Message, API
/// reference).
pub const NONCE_KEPT: Duration = Duration::from_secs(5 * 60);

/// A message, as its channel has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The channel, or the thread.
    pub channel: u64,
    /// The message: no other message anywhere has this id.
    pub id: u64,
    /// Who said it.
    pub author: u64,
    /// When it was created.
    pub at: Timestamp,
    /// What the client called it when it created it.
    pub nonce: Option<String>,
    /// The message that it answers.
    pub reply_to: Option<u64>,
    /// Whom it answers is mentioned by that.
    pub pings: bool,
    /// The text, after the last edit.
    pub text: String,
    /// Action rows with buttons.
    pub components: Vec<Value>,
    /// Embeds.
    pub embeds: Vec<Value>,
    /// Message flags: 4 is "no embeds", 64 is "for one person only".
    pub flags: u64,
    /// Files.
    pub files: Vec<Attachment>,
    /// The texts before each edit, the oldest first.
    pub edits: Vec<String>,
    /// When it was edited last.
    pub edited_at: Option<Timestamp>,
    /// It was deleted.
    pub deleted: bool,
    /// The interaction that it answers.
    pub interaction: Option<u64>,
    /// More fields, or other values, as the platform shows it.
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
    /// Its size in bytes, as the platform says it.
    pub size: u64,
    /// What is downloaded.
    pub bytes: Arc<[u8]>,
}

/// That the bot created a message: the record stays, whatever becomes of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The channel.
    pub channel: u64,
    /// The message.
    pub id: u64,
    /// Its nonce.
    pub nonce: Option<String>,
    /// Its text at that time.
    pub text: String,
    /// The time of the platform.
    pub at: Timestamp,
}

/// A message of the bot that told somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mentioned {
    /// The channel.
    pub channel: u64,
    /// The message.
    pub id: u64,
    /// Who was told.
    pub who: Vec<Mention>,
}

impl Message {
    /// The buttons below it, in reading order.
    #[must_use]
    pub fn buttons(&self) -> Vec<Value> {
        components::buttons(&self.components)
    }

    /// For one person only: not in the channel's history.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.flags & EPHEMERAL != 0
    }

    /// Who is mentioned in its text.
    pub(super) fn mentions(&self) -> Vec<Mention> {
        mentions(&self.text)
    }
}

/// Everything that was said, and what is remembered of it.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// By the bot, in order.
    pub(super) sent: Vec<Message>,
    /// By the others, in order.
    pub(super) heard: Vec<Message>,
    pub(super) created: Vec<Created>,
    pub(super) mentioned: Vec<Mentioned>,
    nonces: BTreeMap<(u64, String), (u64, Timestamp)>,
}

impl Messages {
    /// A message that is there.
    pub(super) fn find(&self, channel: u64, id: u64) -> Option<&Message> {
        let found = [&self.sent, &self.heard].into_iter().find_map(|messages| {
            let place = messages.binary_search_by_key(&id, |message| message.id).ok()?;
            messages.get(place)
        });
        found.filter(|message| message.channel == channel && !message.deleted)
    }

    pub(super) fn find_mut(&mut self, channel: u64, id: u64) -> Option<&mut Message> {
        let found = [&mut self.sent, &mut self.heard].into_iter().find_map(|messages| {
            let place = messages.binary_search_by_key(&id, |message| message.id).ok()?;
            messages.get_mut(place)
        });
        found.filter(|message| message.channel == channel && !message.deleted)
    }

    /// The channel of a message.
    pub(super) fn channel_of(&self, id: u64) -> Option<u64> {
        let mut all = self.sent.iter().chain(&self.heard);
        all.find(|message| message.id == id).map(|message| message.channel)
    }

    /// What a channel shows, the oldest first.
    pub(super) fn history(&self, channel: u64) -> Vec<&Message> {
        let is_shown = |message: &&Message| {
            message.channel == channel && !message.deleted && !message.is_ephemeral()
        };
        let mut shown: Vec<&Message> =
            self.sent.iter().chain(&self.heard).filter(is_shown).collect();
        shown.sort_by_key(|message| message.id);
        shown
    }

    /// Keeps what the bot says.
    pub(super) fn send(&mut self, message: Message) {
        let Message { channel, id, at, nonce, text, .. } = message.clone();
        if let Some(nonce) = &nonce {
            self.nonces.insert((channel, nonce.clone()), (id, at));
        }
        self.created.push(Created { channel, id, nonce, text, at });
        self.sent.push(message);
    }

    /// The message that has this nonce, while the platform remembers it.
    pub(super) fn by_nonce(&self, channel: u64, nonce: &str, now: Timestamp) -> Option<&Message> {
        let (id, at) = self.nonces.get(&(channel, nonce.to_owned()))?;
        let is_kept = at.until(now) < NONCE_KEPT;
        self.find(channel, *id).filter(|_| is_kept)
    }
}
