//! Parts of a message that came through a webhook and wait for the next part. Telegram posts an update
//! only after the response to the one before, so that a part is acknowledged before its message is
//! complete. A cursor of the log keeps the part meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::Cursor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::types::{Message, UpdateKind};

use crate::album;
use crate::update::Update;

/// Prefix of the scope of the cursors that keep parts. A number follows.
const SCOPE: &str = "parts ";
/// Chats that have such a cursor. A further chat takes the cursor of the one that used its own the
/// longest time ago, unless parts wait there.
const MAX_CHATS: usize = 100;
/// The time to wait for the next part, which Telegram posts right after the response.
const PART_WAIT: Duration = Duration::from_secs(1);
/// The most parts of a message.
const MAX_PARTS: usize = 64;

/// The parts of each chat.
#[derive(Debug, Default)]
pub(crate) struct PendingParts(Mutex<BTreeMap<i64, ChatParts>>);

#[derive(Debug, Default)]
struct ChatParts {
    /// The number of the cursor.
    number: usize,
    /// The parts that wait, each as it was posted. Empty if none waits.
    waiting: Vec<Value>,
    /// The time on the clock at which the message counts as complete.
    until: Duration,
    /// The ids of the last messages that are in the log as parts of another one.
    joined: BTreeSet<i32>,
}

/// The text of a cursor.
#[derive(Debug, Serialize, Deserialize)]
struct PartsPosition {
    chat: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Value>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    joined: BTreeSet<i32>,
}

/// The parts of a message that wait in a chat.
#[derive(Debug)]
pub(crate) struct WaitingParts {
    chat: i64,
    /// The number of the cursor.
    number: usize,
    raw: Vec<Value>,
    pub(crate) updates: Vec<Update>,
}

impl PendingParts {
    /// Reads the parts of a chat from a cursor of an earlier run. Returns `false` if the cursor is
    /// damaged.
    pub(crate) fn learn(&self, cursor: &Cursor, now: Duration) -> bool {
        let number = cursor.scope.strip_prefix(SCOPE).filter(|_| !cursor.position.is_empty());
        let Some(number) = number else { return true };
        let position: Result<PartsPosition, _> = serde_json::from_str(&cursor.position);
        let (Ok(number), Ok(position)) = (number.parse(), position) else { return false };
        let PartsPosition { chat, mut waiting, joined } = position;
        let kept = waiting.len();
        waiting.retain(|raw| Update::read(raw.clone()).is_some_and(|one| message(&one).is_some()));
        let is_complete = waiting.len() == kept;
        let parts = ChatParts { number, waiting, until: now + PART_WAIT, joined };
        self.chats().insert(chat, parts);
        is_complete
    }

    /// Begins a message with its first part. `None` for an update that stands alone.
    pub(crate) fn begin(&self, update: &Update, raw: &Value) -> Option<WaitingParts> {
        let message = message(update).filter(|_| album::waits_for_more(update))?;
        let chat = message.chat.id.0;
        let (raw, updates) = (vec![raw.clone()], vec![update.clone()]);
        Some(WaitingParts { chat, number: self.cursor_number(chat), raw, updates })
    }

    /// Returns the number of a chat's cursor.
    fn cursor_number(&self, chat: i64) -> usize {
        let chats = self.chats();
        if let Some(known) = chats.get(&chat) {
            return known.number;
        }
        let is_used = |number: &usize| chats.values().any(|parts| parts.number == *number);
        let free = (0..chats.len()).find(|number| !is_used(number)).unwrap_or(chats.len());
        let idle = chats.values().filter(|parts| parts.waiting.is_empty());
        match idle.min_by_key(|parts| parts.until) {
            Some(oldest) if chats.len() >= MAX_CHATS => oldest.number,
            _ => free,
        }
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
    pub(crate) fn keep(&self, parts: WaitingParts, now: Duration) {
        let WaitingParts { chat, number, raw: waiting, .. } = parts;
        let mut chats = self.chats();
        chats.retain(|other, parts| *other == chat || parts.number != number);
        let (until, joined) = (now + PART_WAIT, BTreeSet::new());
        chats.insert(chat, ChatParts { number, waiting, until, joined });
    }

    /// Records that the message of these parts is in the log.
    pub(crate) fn finish(&self, parts: &WaitingParts) {
        if let Some(chat) = self.chats().get_mut(&parts.chat) {
            chat.waiting.clear();
            chat.joined = parts.message_ids().collect();
        }
    }

    /// Lets parts wait longer, because the log did not take their message.
    pub(crate) fn postpone(&self, parts: &WaitingParts, now: Duration) {
        if let Some(chat) = self.chats().get_mut(&parts.chat) {
            chat.until = now + PART_WAIT;
        }
    }

    fn chats(&self) -> MutexGuard<'_, BTreeMap<i64, ChatParts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingParts {
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
        self.cursor_at(self.raw.clone(), BTreeSet::new())
    }

    /// The cursor that replaces the parts with the ids of their messages.
    pub(crate) fn end_cursor(&self) -> Cursor {
        self.cursor_at(Vec::new(), self.message_ids().collect())
    }

    fn cursor_at(&self, waiting: Vec<Value>, joined: BTreeSet<i32>) -> Cursor {
        let position = PartsPosition { chat: self.chat, waiting, joined };
        let position = serde_json::to_string(&position).unwrap_or_default();
        Cursor { scope: format!("{SCOPE}{}", self.number), position }
    }

    fn message_ids(&self) -> impl Iterator<Item = i32> {
        self.updates.iter().filter_map(message).map(|message| message.id.0)
    }

    fn read(chat: i64, parts: &ChatParts) -> Option<Self> {
        let raw = parts.waiting.clone();
        let updates: Vec<Update> = raw.iter().cloned().filter_map(Update::read).collect();
        let number = parts.number;
        (!updates.is_empty()).then_some(Self { chat, number, raw, updates })
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
    fn pending_parts_are_read_from_their_cursor_and_wait_a_second() {
        let (one, two) = (part(1, &"x".repeat(4000)), part(2, "end"));
        let pending = PendingParts::default();
        assert!(pending.begin(&update(&two), &two).is_none());
        let first = pending.begin(&update(&one), &one).unwrap();
        let cursor = first.cursor();
        pending.keep(first, Duration::ZERO);
        let again = PendingParts::default();
        assert!(again.learn(&cursor, Duration::ZERO));
        for pending in [&pending, &again] {
            assert!(pending.has(&update(&one)) && !pending.has(&update(&two)));
            let wait = pending.next_due(Duration::from_millis(400));
            assert_eq!(wait, Some(Duration::from_millis(600)));
            let due = [PART_WAIT / 2, PART_WAIT].map(|now| pending.due(now).len());
            assert_eq!(due, [0, 1]);
        }
        let mut parts = again.waiting_for(&update(&two)).unwrap();
        assert!(parts.may_grow() && parts.add(&update(&two), &two) && !parts.may_grow());
        again.finish(&parts);
        let end = PendingParts::default();
        assert!(end.learn(&parts.end_cursor(), Duration::ZERO));
        for pending in [&again, &end] {
            assert!(pending.has(&update(&one)) && pending.has(&update(&two)));
            assert!(pending.next_due(PART_WAIT).is_none());
            assert!(pending.waiting_for(&update(&two)).is_none());
        }
    }

    #[test]
    fn pending_parts_ignore_cursors_of_others_and_damaged_ones() {
        let pending = PendingParts::default();
        for (scope, position, is_readable) in [
            ("", "7", true),
            ("album 7", "a", true),
            ("parts 0", "", true),
            ("parts x", "{}", false),
            ("parts 1", "[{}", false),
            ("parts 2", "[{}]", false),
            ("parts 3", r#"{"chat":7,"waiting":[{}]}"#, false),
            ("parts 4", r#"{"chat":8,"waiting":[{"update_id":1}]}"#, false),
            ("parts 5", r#"{"chat":9}"#, true),
        ] {
            let cursor = Cursor { scope: scope.into(), position: position.into() };
            assert_eq!(pending.learn(&cursor, Duration::ZERO), is_readable, "{scope}");
        }
        assert!(pending.next_due(Duration::ZERO).is_none());
        assert!(!pending.has(&update(&part(7, "a"))));
    }

    #[test]
    fn begin_takes_the_cursor_of_the_chat_that_was_idle_longest() {
        let pending = PendingParts::default();
        let begin = |chat: i64| {
            let mut raw = part(1, &"x".repeat(4000));
            raw["message"]["chat"]["id"] = json!(chat);
            pending.begin(&update(&raw), &raw).unwrap()
        };
        let numbers: BTreeSet<usize> = (0..=MAX_CHATS)
            .map(|chat| {
                let parts = begin(i64::try_from(chat).unwrap());
                let number = parts.number;
                pending.keep(parts, Duration::from_secs(chat as u64));
                if chat > 0 {
                    let due = pending.due(Duration::MAX);
                    pending.finish(due.last().unwrap());
                }
                number
            })
            .collect();
        assert_eq!((numbers.len(), pending.chats().len()), (MAX_CHATS, MAX_CHATS));
        let chats = [0, 1, 2].map(|chat| pending.chats().contains_key(&chat));
        assert_eq!(chats, [true, false, true], "parts of the first chat wait");
        assert_eq!(begin(5).number, 5);
    }
}
