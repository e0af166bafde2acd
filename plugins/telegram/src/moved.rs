//! Groups that become supergroups. The platform gives them a new id and restarts their message
//! numbers. Here they keep the old id, with their conversation and their rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use avocet_protocol::chat::Cursor;
use avocet_protocol::ids::{DedupeKey, PlatformId};
use parking_lot::Mutex;
use serde_json::Value;
use teloxide::types::{ChatId, Message, MessageId, UpdateKind};

use crate::topic::TopicLoss;
use crate::update::Update;

/// Prefix of the scope of cursors that record a moved group.
const SCOPE: &str = "moved ";

/// The groups whose id has changed.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Each group's old id, by its new one.
    old: Mutex<BTreeMap<ChatId, ChatId>>,
    /// Groups named in the configuration. Each of them stays a separate chat, even after a move.
    named: BTreeSet<i64>,
}

impl Moves {
    /// Starts without known moves.
    pub(crate) fn new(named: BTreeSet<i64>) -> Self {
        Self { old: Mutex::default(), named }
    }

    /// The id that the bus uses for a chat: the original one.
    pub(crate) fn home(&self, chat: ChatId) -> ChatId {
        if self.is_named(chat) {
            return chat;
        }
        self.old.lock().get(&chat).copied().unwrap_or(chat)
    }

    /// The platform's current chat for an id of the bus.
    pub(crate) fn place(&self, chat: ChatId) -> ChatPlace {
        let found = self.old.lock().iter().find(|(_, old)| **old == chat).map(|(new, _)| *new);
        found.map_or(ChatPlace { chat, moved: false }, ChatPlace::moved_to)
    }

    pub(crate) fn note_move(&self, moved: GroupMove) {
        self.old.lock().insert(moved.to, moved.from);
    }

    pub(crate) fn knows(&self, moved: GroupMove) -> bool {
        self.old.lock().get(&moved.to) == Some(&moved.from)
    }

    /// Returns `true` if the configuration names this group.
    pub(crate) fn is_named(&self, chat: ChatId) -> bool {
        self.named.contains(&chat.0)
    }
}

/// A chat of the platform; `moved` if another group has become this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChatPlace {
    pub(crate) chat: ChatId,
    pub(crate) moved: bool,
}

impl ChatPlace {
    pub(crate) fn moved_to(chat: ChatId) -> Self {
        Self { chat, moved: true }
    }

    /// The id of a message in this chat; `None` if the message was left behind by a move. An
    /// unnoticed move does no harm: the platform then refuses and names the new chat.
    pub(crate) fn message(self, number: MessageNumber) -> Option<MessageId> {
        (number.in_supergroup || !self.moved).then_some(number.id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageNumber {
    pub(crate) id: MessageId,
    /// `true` if the number is from the supergroup that a group has become.
    pub(crate) in_supergroup: bool,
    /// The reason why the message is outside its topic.
    pub(crate) lost: Option<TopicLoss>,
}

impl MessageNumber {
    /// Parses the number of a sent message: `17`, or `n17` after a move. The suffix `d` means that
    /// the topic was deleted, `c` that it was closed. An album has several numbers (`17,18`), of
    /// which this is the first.
    pub(crate) fn of_sent(id: &PlatformId) -> Option<Self> {
        Self::all_of_sent(id).next()
    }

    /// Parses the numbers of all messages of a delivery.
    pub(crate) fn all_of_sent(id: &PlatformId) -> impl Iterator<Item = Self> {
        id.as_str().split(',').map_while(Self::of_one_sent)
    }

    fn of_one_sent(id: &str) -> Option<Self> {
        let (id, in_supergroup) = match id.strip_prefix('n') {
            Some(id) => (id, true),
            None => (id, false),
        };
        let lost = [('d', TopicLoss::Deleted), ('c', TopicLoss::Closed)];
        let (id, lost) = lost
            .into_iter()
            .find_map(|(letter, lost)| Some((id.strip_suffix(letter)?, Some(lost))))
            .unwrap_or((id, None));
        Some(Self { id: MessageId(id.parse().ok()?), in_supergroup, lost })
    }

    /// Parses the number of a received message from its key: `m17` or `n17`. `None` for the key of
    /// a pressed button.
    pub(crate) fn of_received(key: &DedupeKey) -> Option<Self> {
        let (id, in_supergroup) = match key.as_str().split_at_checked(1)? {
            ("m", id) => (id, false),
            ("n", id) => (id, true),
            _ => return None,
        };
        Some(Self { id: MessageId(id.parse().ok()?), in_supergroup, lost: None })
    }
}

/// The inverse of [`MessageNumber::of_sent`].
impl fmt::Display for MessageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = match self.lost {
            None => "",
            Some(TopicLoss::Deleted) => "d",
            Some(TopicLoss::Closed) => "c",
        };
        write!(f, "{}{}{lost}", if self.in_supergroup { "n" } else { "" }, self.id)
    }
}

/// A group that has got a new id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupMove {
    pub(crate) from: ChatId,
    pub(crate) to: ChatId,
}

impl GroupMove {
    /// Reads a move from the last message of a group or the first one of the supergroup; `None` for
    /// other updates.
    pub(crate) fn read(update: &Update) -> Option<Self> {
        match &update.kind {
            UpdateKind::Message(message) => Self::of_message(message),
            UpdateKind::Error(raw) => Self::of_fields(&raw["message"]),
            _ => None,
        }
    }

    fn of_message(message: &Message) -> Option<Self> {
        let here = message.chat.id;
        let to = message.migrate_to_chat_id().map(|to| Self { from: here, to: *to });
        to.or_else(|| message.migrate_from_chat_id().map(|from| Self { from: *from, to: here }))
    }

    /// Like [`Self::of_message`], for a message that teloxide fails to parse.
    fn of_fields(message: &Value) -> Option<Self> {
        let here = ChatId(message["chat"]["id"].as_i64()?);
        let id = |field: &str| message[field].as_i64().map(ChatId);
        let to = id("migrate_to_chat_id").map(|to| Self { from: here, to });
        to.or_else(|| id("migrate_from_chat_id").map(|from| Self { from, to: here }))
    }

    /// Reads a move that an earlier run recorded; `None` for other cursors.
    pub(crate) fn from_cursor(Cursor { scope, position }: &Cursor) -> Option<Self> {
        let to = scope.strip_prefix(SCOPE)?.parse().ok()?;
        Some(Self { from: ChatId(position.parse().ok()?), to: ChatId(to) })
    }

    /// The cursor that records this move.
    pub(crate) fn cursor(self) -> Cursor {
        Cursor { scope: format!("{SCOPE}{}", self.to), position: self.from.to_string() }
    }
}

#[cfg(test)]
#[path = "moved_tests.rs"]
mod tests;
