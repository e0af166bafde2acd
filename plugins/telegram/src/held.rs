//! Parts of a message that came through a webhook and wait for the next part. Telegram posts an update
//! only after the response to the one before, so that a part is acknowledged before its message is
//! complete. A cursor of the log keeps the part meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::Cursor;
use serde_json::Value;
use teloxide::types::{Message, UpdateKind};

use crate::album;
use crate::update::Update;

/// Prefix of the scope of cursors with the parts of a chat.
const SCOPE: &str = "parts ";
/// The time to wait for the next part, which Telegram posts right after the response.
const HOLD: Duration = Duration::from_secs(1);
/// The most parts of a message.
const MAX_PARTS: usize = 64;

/// The parts of each chat.
#[derive(Debug, Default)]
pub(crate) struct HeldParts(Mutex<BTreeMap<i64, ChatParts>>);

#[derive(Debug, Default)]
struct ChatParts {
    /// The parts that wait, each as it was posted. Empty if none waits.
    waiting: Vec<Value>,
    /// The time on the clock at which the message counts as complete.
    until: Duration,
    /// The ids of the last messages that are in the log as parts of another one.
    joined: BTreeSet<i32>,
}

/// The parts of a message that wait in a chat.
#[derive(Debug)]
pub(crate) struct WaitingParts {
    chat: i64,
    raw: Vec<Value>,
    pub(crate) updates: Vec<Update>,
}

impl HeldParts {
    /// Reads the parts of a chat from a cursor of an earlier run.
    pub(crate) fn learn(&self, cursor: &Cursor, now: Duration) {
        let chat = cursor.scope.strip_prefix(SCOPE).and_then(|chat| chat.parse().ok());
        let Some(chat) = chat else { return };
        let waiting: Vec<Value> = serde_json::from_str(&cursor.position).unwrap_or_default();
        let ids = cursor.position.split(' ').filter_map(|id| id.parse().ok());
        let joined = if waiting.is_empty() { ids.collect() } else { BTreeSet::new() };
        self.chats().insert(chat, ChatParts { waiting, until: now + HOLD, joined });
    }

    /// Returns `true` if a message waits as a part, or is in the log as a part of another message.
    pub(crate) fn has(&self, update: &Update) -> bool {
        let Some(message) = message(update) else { return false };
        let chats = self.chats();
        let Some(parts) = chats.get(&message.chat.id.0) else { return false };
        let is_waiting = |raw: &Value| raw["message"]["message_id"] == message.id.0;
        parts.waiting.iter().any(is_waiting) || parts.joined.contains(&message.id.0)
    }

    /// Returns `true` if a message is in the log as a part of another message.
    pub(crate) fn has_joined(&self, update: &Update) -> bool {
        message(update).is_some_and(|message| {
            let chats = self.chats();
            chats.get(&message.chat.id.0).is_some_and(|parts| parts.joined.contains(&message.id.0))
        })
    }

    /// Returns the parts that wait in the chat of an update.
    pub(crate) fn waiting_for(&self, update: &Update) -> Option<WaitingParts> {
        let chat = match &update.kind {
            UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => message.chat.id.0,
            _ => return None,
        };
        WaitingParts::read(chat, self.chats().get(&chat)?)
    }

    /// Returns the parts that have waited long enough.
    pub(crate) fn due(&self, now: Duration) -> Vec<WaitingParts> {
        let chats = self.chats();
        let due = chats.iter().filter(|(_, parts)| parts.until <= now);
        due.filter_map(|(chat, parts)| WaitingParts::read(*chat, parts)).collect()
    }

    /// Returns the time until the next parts are due; `None` if none wait.
    pub(crate) fn next_due(&self, now: Duration) -> Option<Duration> {
        let chats = self.chats();
        let waiting = chats.values().filter(|parts| !parts.waiting.is_empty());
        waiting.map(|parts| parts.until.saturating_sub(now)).min()
    }

    /// Records that the cursor of these parts is in the log.
    pub(crate) fn hold(&self, parts: WaitingParts, now: Duration) {
        let joined = BTreeSet::new();
        let held = ChatParts { waiting: parts.raw, until: now + HOLD, joined };
        self.chats().insert(parts.chat, held);
    }

    /// Records that the message of these parts is in the log.
    pub(crate) fn release(&self, parts: &WaitingParts) {
        let joined = parts.message_ids().collect();
        self.chats().insert(parts.chat, ChatParts { joined, ..ChatParts::default() });
    }

    /// Lets parts wait longer, because the log did not take their message.
    pub(crate) fn postpone(&self, parts: &WaitingParts, now: Duration) {
        if let Some(held) = self.chats().get_mut(&parts.chat) {
            held.until = now + HOLD;
        }
    }

    fn chats(&self) -> MutexGuard<'_, BTreeMap<i64, ChatParts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingParts {
    /// Begins a message with its first part. `None` for an update that stands alone.
    pub(crate) fn first(update: &Update, raw: &Value) -> Option<Self> {
        let message = message(update).filter(|_| album::waits_for_more(update))?;
        let (raw, updates) = (vec![raw.clone()], vec![update.clone()]);
        Some(Self { chat: message.chat.id.0, raw, updates })
    }

    /// Adds an update if it is the next part.
    pub(crate) fn add(&mut self, update: &Update, raw: &Value) -> bool {
        let belongs = self.raw.len() < MAX_PARTS && album::belongs(&self.updates, update);
        if belongs {
            self.raw.push(raw.clone());
            self.updates.push(update.clone());
        }
        belongs
    }

    /// Returns `true` if another part may follow.
    pub(crate) fn may_grow(&self) -> bool {
        self.updates.last().is_some_and(album::waits_for_more)
    }

    /// The cursor that keeps the parts.
    pub(crate) fn cursor(&self) -> Cursor {
        self.cursor_at(Value::Array(self.raw.clone()).to_string())
    }

    /// The cursor that replaces the parts with the ids of their messages.
    pub(crate) fn end_cursor(&self) -> Cursor {
        let ids: Vec<String> = self.message_ids().map(|id| id.to_string()).collect();
        self.cursor_at(ids.join(" "))
    }

    fn cursor_at(&self, position: String) -> Cursor {
        Cursor { scope: format!("{SCOPE}{}", self.chat), position }
    }

    fn message_ids(&self) -> impl Iterator<Item = i32> {
        self.updates.iter().filter_map(message).map(|message| message.id.0)
    }

    fn read(chat: i64, parts: &ChatParts) -> Option<Self> {
        let raw = parts.waiting.clone();
        let updates: Vec<Update> = raw.iter().cloned().filter_map(Update::read).collect();
        (!updates.is_empty()).then_some(Self { chat, raw, updates })
    }
}

fn message(update: &Update) -> Option<&Message> {
    match &update.kind {
        UpdateKind::Message(message) => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(id: i32, text: &str) -> Value {
        json!({ "update_id": 100 + id, "message": {
            "message_id": id, "date": 1, "text": text,
            "chat": { "id": 7, "type": "private", "first_name": "A" },
            "from": { "id": 7, "is_bot": false, "first_name": "A" } } })
    }

    fn update(raw: &Value) -> Update {
        Update::read(raw.clone()).unwrap()
    }

    #[test]
    fn held_parts_are_read_from_their_cursor_and_wait_a_second() {
        let (one, two) = (part(1, &"x".repeat(4000)), part(2, "end"));
        let held = HeldParts::default();
        assert!(WaitingParts::first(&update(&two), &two).is_none());
        let first = WaitingParts::first(&update(&one), &one).unwrap();
        let cursor = first.cursor();
        held.hold(first, Duration::ZERO);
        let again = HeldParts::default();
        again.learn(&cursor, Duration::ZERO);
        for held in [&held, &again] {
            assert!(held.has(&update(&one)) && !held.has(&update(&two)));
            assert_eq!(held.next_due(Duration::from_millis(400)), Some(Duration::from_millis(600)));
            assert_eq!((held.due(HOLD / 2).len(), held.due(HOLD).len()), (0, 1));
        }
        let mut parts = again.waiting_for(&update(&two)).unwrap();
        assert!(parts.may_grow() && parts.add(&update(&two), &two) && !parts.may_grow());
        again.release(&parts);
        let end = HeldParts::default();
        end.learn(&parts.end_cursor(), Duration::ZERO);
        for held in [&again, &end] {
            assert!(held.has(&update(&one)) && held.has(&update(&two)));
            assert!(held.next_due(HOLD).is_none() && held.waiting_for(&update(&two)).is_none());
        }
    }

    #[test]
    fn held_parts_ignore_cursors_of_others_and_damaged_ones() {
        let held = HeldParts::default();
        for (scope, position) in
            [("", "7"), ("album 7", "a"), ("parts x", "[]"), ("parts 7", "[{}")]
        {
            held.learn(&Cursor { scope: scope.into(), position: position.into() }, Duration::ZERO);
        }
        assert!(held.next_due(Duration::ZERO).is_none() && !held.has(&update(&part(7, "a"))));
    }
}
