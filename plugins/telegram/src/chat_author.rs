//! The author of an update, and the chat in which it was sent.

use serde_json::Value;
use teloxide::types::{Message, UpdateKind, UserId};

use crate::update::Update;

/// A person, or a chat that sends as itself, in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChatAuthor {
    pub(crate) chat: i64,
    pub(crate) author: i64,
}

impl ChatAuthor {
    /// Returns the author of a message, an edit or a button press, even if it is unreadable. `None`
    /// for another kind of update, or without an author.
    pub(crate) fn from_update(update: &Update) -> Option<Self> {
        match &update.kind {
            UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => {
                Self::of_message(message)
            }
            UpdateKind::CallbackQuery(query) => {
                let chat = query.message.as_ref()?.chat().id.0;
                Some(Self { chat, author: number(query.from.id)? })
            }
            UpdateKind::Error(raw) => Self::of_raw(raw),
            _ => None,
        }
    }

    fn of_message(message: &Message) -> Option<Self> {
        let author = match (&message.sender_chat, &message.from) {
            (Some(chat), _) => chat.id.0,
            (None, from) => number(from.as_ref()?.id)?,
        };
        Some(Self { chat: message.chat.id.0, author })
    }

    fn of_raw(raw: &Value) -> Option<Self> {
        let press = raw.get("callback_query");
        let message = raw.get("message").or_else(|| raw.get("edited_message"));
        let message = message.or_else(|| press?.get("message"))?;
        let author = match press {
            Some(press) => press["from"]["id"].as_i64(),
            None => {
                let chat = message["sender_chat"]["id"].as_i64();
                chat.or_else(|| message["from"]["id"].as_i64())
            }
        };
        Some(Self { chat: message["chat"]["id"].as_i64()?, author: author? })
    }
}

fn number(user: UserId) -> Option<i64> {
    i64::try_from(user.0).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_reads_messages_edits_and_presses_that_are_readable_or_not() {
        let user = json!({ "id": 7, "is_bot": false, "first_name": "A" });
        let channel = json!({ "id": -5, "type": "channel", "title": "S" });
        let group = json!({ "id": -50, "type": "group", "title": "G" });
        let text = json!({ "message_id": 1, "date": 1, "text": "a", "from": user, "chat": group });
        let mut by_channel = text.clone();
        by_channel["sender_chat"] = channel;
        let unreadable = json!({ "from": { "id": 7 }, "chat": { "id": -50 } });
        let press = json!({ "id": "1", "from": user, "chat_instance": "1", "message": by_channel });
        let table = [
            (json!({ "message": text }), Some(7)),
            (json!({ "edited_message": text }), Some(7)),
            (json!({ "message": by_channel }), Some(-5)),
            (json!({ "callback_query": press }), Some(7)),
            (json!({ "message": unreadable }), Some(7)),
            (json!({ "callback_query": { "from": { "id": 7 }, "message": unreadable } }), Some(7)),
            (json!({ "message": { "chat": { "id": -50 } } }), None),
            (json!({ "poll": {} }), None),
        ];
        for (mut raw, author) in table {
            raw["update_id"] = json!(1);
            let expected = author.map(|author| ChatAuthor { chat: -50, author });
            assert_eq!(
                ChatAuthor::from_update(&Update::read(raw.clone()).unwrap()),
                expected,
                "{raw}"
            );
        }
    }
}
