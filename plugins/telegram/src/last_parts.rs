//! The last message of each author in each chat. A client sends a comment before the messages that it
//! forwards with it, a text before the photo behind it, and the parts of a long text or an album one
//! by one. Each part is committed as it comes, with the key of the part before it, and the log lets
//! one turn answer them (`joined_message.rs` of the store). So a single message never waits.
//!
//! Only memory holds the last messages: after a restart, a further part is a message of its own, unless
//! the platform repeats the part before it.

use avocet_channel_kit::{Converted, Taken};
use avocet_protocol::LruMap;
use avocet_protocol::ids::DedupeKey;
use parking_lot::Mutex;
use teloxide::types::{Message, UpdateKind};

use crate::chat_author::ChatAuthor;
use crate::media::{self, Carried};
use crate::update::Update;
use crate::{album, forwards, typed_text};

/// Authors whose last message is kept.
const MAX_AUTHORS: usize = 100;
/// The most updates of one message: as many as a client forwards at once.
const MAX_PARTS: usize = 100;
/// Seconds between a text and the file behind it.
const NEXT_SECONDS: i64 = 1;

/// The last message for the bot of each author of a chat.
#[derive(Debug, Default)]
pub(crate) struct LastParts(Mutex<LruMap<ChatAuthor, LastPart, MAX_AUTHORS>>);

#[derive(Debug)]
struct LastPart {
    update: Update,
    message: ContinuedMessage,
}

/// A message that may have further parts.
#[derive(Debug, Clone)]
pub(crate) struct ContinuedMessage {
    /// The key of its last row in the log.
    pub(crate) key: DedupeKey,
    /// The number of its updates.
    parts: usize,
}

impl LastParts {
    /// Returns the message of which an update is a further part.
    pub(crate) fn find_continued(&self, update: &Update) -> Option<ContinuedMessage> {
        let author = ChatAuthor::from_update(update)?;
        let parts = self.0.lock();
        let last = parts.peek(&author)?;
        let has_room = last.message.parts < MAX_PARTS;
        (has_room && is_part_of(&last.update, update)).then(|| last.message.clone())
    }

    /// Notes new updates that are in the log. Any other message of an author ends the one before.
    pub(crate) fn note_committed(
        &self,
        updates: &[Update],
        converted: &Converted,
        taken: &Taken,
        continued: Option<&ContinuedMessage>,
    ) {
        let Some(last) = updates.last().filter(|update| message(update).is_some()) else { return };
        let Some(author) = ChatAuthor::from_update(last) else { return };
        let mut parts = self.0.lock();
        match converted {
            Converted::Inbound(inbound) if is_in_log(taken) => {
                let earlier = continued.map_or(0, |continued| continued.parts);
                let message =
                    ContinuedMessage { key: inbound.key.clone(), parts: earlier + updates.len() };
                parts.put(author, LastPart { update: last.clone(), message });
            }
            _ => {
                parts.pop(&author);
            }
        }
    }
}

fn is_in_log(taken: &Taken) -> bool {
    matches!(taken, Taken::Accepted | Taken::Repeated | Taken::Settled)
}

/// Returns `true` if an author's client has sent both messages as one.
fn is_part_of(last: &Update, next: &Update) -> bool {
    album::is_same_album(last, next)
        || album::continues(last, next)
        || forwards::comes_with(last, next)
        || is_file_behind_text(last, next)
}

/// Returns `true` for a file without a caption that follows a typed text at once.
fn is_file_behind_text(text: &Update, file: &Update) -> bool {
    if !typed_text::is_typed(text) || !typed_text::is_same_author(text, file) {
        return false;
    }
    let (Some(text), Some(file)) = (message(text), message(file)) else { return false };
    let is_file = file.caption().is_none()
        && file.forward_origin().is_none()
        && matches!(media::carried(file), Carried::File(_));
    is_file && (0..=NEXT_SECONDS).contains(&(file.date.timestamp() - text.date.timestamp()))
}

fn message(update: &Update) -> Option<&Message> {
    match &update.kind {
        UpdateKind::Message(message) => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn update(id: i64, more: &Value) -> Update {
        let mut message = json!({ "message_id": id, "date": 10,
            "chat": { "id": 7, "type": "private", "first_name": "A" },
            "from": { "id": 7, "is_bot": false, "first_name": "A" } });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Update::read(json!({ "update_id": 100 + id, "message": message })).unwrap()
    }

    #[test]
    fn is_part_of_joins_what_a_client_sends_at_once() {
        let text = |text: &str| json!({ "text": text });
        let photo = |more: Value| {
            let size = json!({ "file_id": "f", "file_unique_id": "u", "width": 1, "height": 1 });
            let mut photo = json!({ "photo": [size] });
            photo.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            photo
        };
        let origin = json!({ "type": "hidden_user", "date": 1, "sender_user_name": "Eve" });
        let forward = |date: i64| json!({ "text": "x", "date": date, "forward_origin": origin });
        let long = text(&"x".repeat(4000));
        let album = |id: &str| photo(json!({ "media_group_id": id }));
        let bob = json!({ "id": 8, "is_bot": false, "first_name": "B" });
        let table = [
            ("a forward after its comment", text("true?"), forward(11), true),
            ("a later forward", text("true?"), forward(12), false),
            ("a forward after a forward", forward(10), forward(10), true),
            ("a forward after a command", text("/stop"), forward(10), false),
            ("a photo behind a text", text("look"), photo(json!({})), true),
            ("a later photo", text("look"), photo(json!({ "date": 12 })), false),
            ("a photo of another", text("look"), photo(json!({ "from": bob })), false),
            ("a photo with a caption", text("look"), photo(json!({ "caption": "b" })), false),
            ("a text behind a photo", photo(json!({})), text("look"), false),
            ("the rest of a text", long, text("end"), true),
            ("another text", text("hello"), text("again"), false),
            ("one album", album("a"), album("a"), true),
            ("another album", album("a"), album("b"), false),
        ];
        for (case, last, next, expected) in table {
            assert_eq!(is_part_of(&update(1, &last), &update(9, &next)), expected, "{case}");
        }
    }
}
