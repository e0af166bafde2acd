//! Parts of a message that came through a webhook and wait for the next part. Telegram posts an
//! update only after the response to the one before. So a part is acknowledged before its message
//! is complete, and a cursor of the log keeps it meanwhile. The comment on forwarded messages is
//! only in memory. After a restart, and if the comment was answered, the forwarded messages become
//! a separate message. Parts are kept by author and chat, so that messages of other people do not
//! wait.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use avocet_protocol::chat::Cursor;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::types::{Message, UpdateKind};

use crate::album;
use crate::chat_author::ChatAuthor;
use crate::update::Update;

/// Prefix of the scope of the cursors that keep parts. A number follows.
const SCOPE: &str = "parts ";
/// Largest number of authors with such a cursor. A further author takes the cursor that was unused
/// for the longest time. If parts wait in every cursor, the parts of this author are not kept.
const MAX_AUTHORS: usize = 100;
/// The time to wait for the next part, which Telegram posts right after the response.
const PART_WAIT: Duration = Duration::from_secs(1);
/// The most parts of a message: as many as messages that are forwarded together. Each further part
/// writes the earlier ones again, before access control.
const MAX_PARTS: usize = 10;
/// The most bytes of the parts of a message. The longest texts have 12 KB each.
const MAX_BYTES: usize = 128 * 1024;

/// The parts of each author of a chat.
#[derive(Debug, Default)]
pub(crate) struct PendingParts(Mutex<BTreeMap<ChatAuthor, ChatParts>>);

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
    /// Omitted by earlier versions, whose cursor was for the chat.
    author: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Value>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    joined: BTreeSet<i32>,
}

/// Parts that an earlier version kept and this one cannot read.
#[derive(Debug)]
pub(crate) struct LostParts {
    /// Each as it was posted. Empty if the cursor is damaged.
    pub(crate) raw: Vec<Value>,
    /// The cursor without them.
    pub(crate) rest: Cursor,
}

/// The parts of a message that wait in a chat.
#[derive(Debug)]
pub(crate) struct WaitingParts {
    author: ChatAuthor,
    /// The number of the cursor.
    number: usize,
    raw: Vec<Value>,
    pub(crate) updates: Vec<Update>,
}

impl PendingParts {
    /// Reads the parts of an author from a cursor of an earlier run. Returns those that this
    /// version cannot read.
    pub(crate) fn learn(&self, cursor: &Cursor, now: Duration) -> Option<LostParts> {
        let number = cursor.scope.strip_prefix(SCOPE).filter(|_| !cursor.position.is_empty())?;
        let position: Result<PartsPosition, _> = serde_json::from_str(&cursor.position);
        let lost = |raw, position| {
            Some(LostParts { raw, rest: Cursor { scope: cursor.scope.clone(), position } })
        };
        let (Ok(number), Ok(position)) = (number.parse(), position) else {
            return lost(Vec::new(), String::new());
        };
        let PartsPosition { chat, author, waiting, joined } = position;
        let is_readable =
            |raw: &Value| Update::read(raw.clone()).is_some_and(|one| message(&one).is_some());
        let (waiting, unreadable): (Vec<Value>, Vec<Value>) =
            waiting.into_iter().partition(is_readable);
        if waiting.is_empty() && !unreadable.is_empty() {
            return lost(unreadable, String::new());
        }
        let first = waiting.first().cloned().and_then(Update::read);
        let of_first = || Some(ChatAuthor::of(&first?)?.author);
        let author = ChatAuthor { chat, author: author.or_else(of_first).unwrap_or(chat) };
        let rest = position_of(author, waiting.clone(), joined.clone());
        let parts = ChatParts { number, waiting, until: now + PART_WAIT, joined };
        self.0.lock().insert(author, parts);
        if unreadable.is_empty() { None } else { lost(unreadable, rest) }
    }

    /// Begins a message with its first part. `None` for an update that stands alone, that is too
    /// large, or for which no cursor is free.
    pub(crate) fn begin(&self, update: &Update, raw: &Value) -> Option<WaitingParts> {
        message(update).filter(|_| album::waits_for_more(update) && size(raw) <= MAX_BYTES)?;
        let author = ChatAuthor::of(update)?;
        let (raw, updates) = (vec![raw.clone()], vec![update.clone()]);
        Some(WaitingParts { author, number: self.cursor_number(author)?, raw, updates })
    }

    /// Returns the number of an author's cursor; `None` if parts wait in every cursor.
    fn cursor_number(&self, author: ChatAuthor) -> Option<usize> {
        let authors = self.0.lock();
        if let Some(known) = authors.get(&author) {
            return Some(known.number);
        }
        if authors.len() >= MAX_AUTHORS {
            let idle = authors.values().filter(|parts| parts.waiting.is_empty());
            return idle.min_by_key(|parts| parts.until).map(|oldest| oldest.number);
        }
        let is_used = |number: &usize| authors.values().any(|parts| parts.number == *number);
        (0..=authors.len()).find(|number| !is_used(number))
    }

    /// Returns `true` if a message waits as a part, or is in the log as a part of another message.
    pub(crate) fn has(&self, update: &Update) -> bool {
        let Some(message) = message(update) else { return false };
        let is_waiting = |raw: &Value| raw["message"]["message_id"] == message.id.0;
        self.of_author(update, |parts| parts.waiting.iter().any(is_waiting))
            || self.has_joined(update)
    }

    /// Returns `true` if a message is in the log as a part of another message.
    pub(crate) fn has_joined(&self, update: &Update) -> bool {
        let Some(message) = message(update) else { return false };
        self.of_author(update, |parts| parts.joined.contains(&message.id.0))
    }

    /// Returns `false` if the author of an update has no parts.
    fn of_author(&self, update: &Update, look: impl FnOnce(&ChatParts) -> bool) -> bool {
        let Some(author) = ChatAuthor::of(update) else { return false };
        self.0.lock().get(&author).is_some_and(look)
    }

    /// Returns the parts of the author of an update that wait in its chat.
    pub(crate) fn waiting_for(&self, update: &Update) -> Option<WaitingParts> {
        let author = ChatAuthor::of(update)?;
        WaitingParts::read(author, self.0.lock().get(&author)?)
    }

    /// Returns the parts that have waited long enough.
    pub(crate) fn due(&self, now: Duration) -> Vec<WaitingParts> {
        let authors = self.0.lock();
        let due = authors.iter().filter(|(_, parts)| parts.until <= now);
        due.filter_map(|(author, parts)| WaitingParts::read(*author, parts)).collect()
    }

    /// Returns the time until the next parts are due; `None` if none wait.
    pub(crate) fn next_due(&self, now: Duration) -> Option<Duration> {
        let authors = self.0.lock();
        let waiting = authors.values().filter(|parts| !parts.waiting.is_empty());
        waiting.map(|parts| parts.until.saturating_sub(now)).min()
    }

    /// Records that the cursor of these parts is in the log.
    pub(crate) fn keep(&self, parts: WaitingParts, now: Duration) {
        let WaitingParts { author, number, raw: waiting, .. } = parts;
        let mut authors = self.0.lock();
        authors.retain(|other, parts| *other == author || parts.number != number);
        let (until, joined) = (now + PART_WAIT, BTreeSet::new());
        authors.insert(author, ChatParts { number, waiting, until, joined });
    }

    /// Records that the message of these parts is in the log.
    pub(crate) fn finish(&self, parts: &WaitingParts) {
        if let Some(kept) = self.0.lock().get_mut(&parts.author) {
            kept.waiting.clear();
            kept.joined = parts.message_ids().collect();
        }
    }

    /// Lets parts wait longer, because the log did not take their message.
    pub(crate) fn postpone(&self, parts: &WaitingParts, now: Duration) {
        if let Some(kept) = self.0.lock().get_mut(&parts.author) {
            kept.until = now + PART_WAIT;
        }
    }
}

impl WaitingParts {
    /// Adds an update if it is the next part.
    pub(crate) fn add(&mut self, update: &Update, raw: &Value) -> bool {
        let bytes = self.raw.iter().map(size).sum::<usize>() + size(raw);
        let fits = self.raw.len() < MAX_PARTS && bytes <= MAX_BYTES;
        let belongs = fits && album::belongs(&self.updates, update);
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
        let position = position_of(self.author, waiting, joined);
        Cursor { scope: format!("{SCOPE}{}", self.number), position }
    }

    fn message_ids(&self) -> impl Iterator<Item = i32> {
        self.updates.iter().filter_map(message).map(|message| message.id.0)
    }

    fn read(author: ChatAuthor, parts: &ChatParts) -> Option<Self> {
        let raw = parts.waiting.clone();
        let updates: Vec<Update> = raw.iter().cloned().filter_map(Update::read).collect();
        let number = parts.number;
        (!updates.is_empty()).then_some(Self { author, number, raw, updates })
    }
}

fn position_of(author: ChatAuthor, waiting: Vec<Value>, joined: BTreeSet<i32>) -> String {
    let ChatAuthor { chat, author } = author;
    let position = PartsPosition { chat, author: Some(author), waiting, joined };
    serde_json::to_string(&position).unwrap_or_default()
}

/// The bytes of a part in its cursor.
fn size(raw: &Value) -> usize {
    raw.to_string().len()
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
        assert!(again.learn(&cursor, Duration::ZERO).is_none());
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
        assert!(end.learn(&parts.end_cursor(), Duration::ZERO).is_none());
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
            let lost = pending.learn(&cursor, Duration::ZERO);
            assert_eq!(lost.is_none(), is_readable, "{scope}");
        }
        assert!(pending.next_due(Duration::ZERO).is_none());
        assert!(!pending.has(&update(&part(7, "a"))));
    }

    #[test]
    fn begin_takes_the_cursor_of_the_author_who_was_idle_longest() {
        let pending = PendingParts::default();
        let begin = |chat: i64| {
            let mut raw = part(1, &"x".repeat(4000));
            raw["message"]["chat"]["id"] = json!(chat);
            pending.begin(&update(&raw), &raw)
        };
        let numbers: BTreeSet<usize> = (0..=MAX_AUTHORS)
            .map(|chat| {
                let parts = begin(i64::try_from(chat).unwrap()).unwrap();
                let number = parts.number;
                pending.keep(parts, Duration::from_secs(chat as u64));
                if chat > 0 {
                    let due = pending.due(Duration::MAX);
                    pending.finish(due.last().unwrap());
                }
                number
            })
            .collect();
        assert_eq!((numbers.len(), pending.0.lock().len()), (MAX_AUTHORS, MAX_AUTHORS));
        let chats =
            [0, 1, 2].map(|chat| pending.0.lock().contains_key(&ChatAuthor { chat, author: 7 }));
        assert_eq!(chats, [true, false, true], "parts of the first chat wait");
        assert_eq!(begin(5).unwrap().number, 5);
        for chat in 1000..1099 {
            pending.keep(begin(chat).unwrap(), Duration::ZERO);
        }
        assert!(begin(2000).is_none(), "parts wait in every cursor");
    }

    #[test]
    fn add_refuses_parts_above_the_limits() {
        let pending = PendingParts::default();
        let add = |text: &str| {
            let raw = part(1, text);
            let mut parts = pending.begin(&update(&raw), &raw).unwrap();
            (2..=20).find(|id| !parts.add(&update(&part(*id, text)), &part(*id, text)))
        };
        let limits = [add(&"x".repeat(4000)), add(&"\u{1}".repeat(4000))];
        assert_eq!(limits, [Some(11), Some(6)], "parts and bytes");
        let mut large = part(1, &"x".repeat(4000));
        large["message"]["more"] = json!("x".repeat(MAX_BYTES));
        assert!(pending.begin(&update(&large), &large).is_none());
    }
}
