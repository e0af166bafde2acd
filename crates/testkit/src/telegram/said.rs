//! What people say to the bot, as the platform describes it in updates.

use serde_json::{Value, json};

use super::Heard;
use super::bot::Bot;
use super::chats::{SentMessage, describe};

/// A message of somebody else, before it is in its chat.
#[derive(Debug, Clone)]
pub struct Said {
    pub(super) chat: i64,
    pub(super) thread: Option<i64>,
    pub(super) reply_to: Option<i64>,
    pub(super) body: Value,
}

impl Said {
    /// A text in a private chat, whose number is that of the person.
    #[must_use]
    pub fn private(user: i64, text: &str) -> Self {
        Self::group(user, user, text)
    }

    /// A text in a group (a small negative number) or a supergroup (below -1000000000000).
    #[must_use]
    pub fn group(user: i64, chat: i64, text: &str) -> Self {
        let mut body = json!({ "from": person(user), "chat": describe(chat), "text": text });
        let entities = found_entities(text);
        if !entities.is_empty() {
            body["entities"] = json!(entities);
        }
        Self { chat, thread: None, reply_to: None, body }
    }

    /// Something without a text, in any chat: `("photo", Self::photo("file-1"))`.
    #[must_use]
    pub fn thing(user: i64, chat: i64, kind: &str, thing: Value) -> Self {
        let body = json!({ "from": person(user), "chat": describe(chat) });
        Self { chat, thread: None, reply_to: None, body }.with(kind, thing)
    }

    /// What a photo is in a message: its sizes.
    #[must_use]
    pub fn photo(file: &str) -> Value {
        json!([{ "file_id": file, "file_unique_id": format!("u{file}"), "width": 90, "height": 60,
            "file_size": 1000 }])
    }

    /// In a topic of a supergroup.
    #[must_use]
    pub fn thread(self, thread: i64) -> Self {
        let said = self.with("message_thread_id", thread.into());
        Self { thread: Some(thread), ..said.with("is_topic_message", true.into()) }
    }

    /// In answer to a message of the same chat, the bot's or another's.
    #[must_use]
    pub fn reply_to(self, message: i64) -> Self {
        Self { reply_to: Some(message), ..self }
    }

    /// By a bot.
    #[must_use]
    pub fn by_bot(mut self) -> Self {
        self.body["from"]["is_bot"] = json!(true);
        self
    }

    /// With one more field, or another value in one: `("caption", "look")`.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.body[field] = value;
        self
    }

    /// Forwarded, from somebody else's message.
    #[must_use]
    pub fn forwarded_from(self, user: i64, date: i64) -> Self {
        let origin = json!({ "type": "user", "date": date, "sender_user": person(user) });
        self.with("forward_origin", origin)
    }
}

impl Bot {
    /// Somebody says something.
    pub(super) fn hear(&mut self, said: Said) -> Heard {
        let (chat, date) = (said.chat, self.date());
        self.chats.open(chat);
        if let Some(thread) = said.thread {
            self.chats.open_thread(chat, thread);
        }
        let id = self.chats.heard(chat, date);
        let mut message = said.body;
        message["message_id"] = json!(id);
        message["date"] = json!(date);
        if let Some(replied) = said.reply_to {
            message["reply_to_message"] = self.shown((chat, replied));
        }
        self.heard.insert((chat, id), message.clone());
        Heard { chat, id, update: self.push("message", message) }
    }

    /// A message inside of another: without the one that it answers itself.
    fn shown(&self, place: (i64, i64)) -> Value {
        let mut message = self.heard.get(&place).cloned().unwrap_or_else(|| {
            self.chats.describe(place, &self.me()).expect("a reply to a message of this chat")
        });
        message.as_object_mut().unwrap().remove("reply_to_message");
        message
    }

    /// Somebody changes what was said.
    pub(super) fn hear_edit(&mut self, place: (i64, i64), text: &str) -> Option<i64> {
        let date = self.date();
        let message = self.heard.get_mut(&place).expect("an edit of what was said");
        let (field, entities) = match message.get("text") {
            Some(_) => ("text", "entities"),
            None => ("caption", "caption_entities"),
        };
        message[field] = json!(text);
        message[entities] = json!(found_entities(text));
        message["edit_date"] = json!(date);
        let message = message.clone();
        self.push("edited_message", message)
    }

    /// Somebody changes what the bot may do in a chat: from one status to another.
    pub(super) fn hear_membership(&mut self, user: i64, chat: i64, [old, new]: [&str; 2]) {
        let member = |status| match status {
            "kicked" => json!({ "status": status, "user": self.me(), "until_date": 0 }),
            _ => json!({ "status": status, "user": self.me() }),
        };
        let body = json!({ "chat": describe(chat), "from": person(user), "date": self.date(),
            "old_chat_member": member(old), "new_chat_member": member(new) });
        self.push("my_chat_member", body);
    }

    /// Somebody presses a button.
    pub(super) fn press(&mut self, user: i64, message: &SentMessage, data: &str) -> String {
        let has_it = message.buttons().iter().any(|button| button["callback_data"] == data);
        assert!(has_it, "no button {data:?} below {message:?}");
        self.presses += 1;
        let id = format!("{}", 4_000_000_000 + self.presses);
        let shown = self.shown((message.chat, message.id));
        self.pressed.insert(id.clone(), self.now);
        let query = json!({ "id": id, "from": person(user), "message": shown,
            "chat_instance": "1", "data": data });
        self.push("callback_query", query);
        id
    }
}

/// A person as the platform describes one.
fn person(user: i64) -> Value {
    json!({ "id": user, "is_bot": false, "first_name": format!("User {user}"),
        "username": format!("user{user}"), "language_code": "en" })
}

/// The entities that the platform finds by itself, as far as a bot depends on them: commands and
/// mentions.
fn found_entities(text: &str) -> Vec<Value> {
    let (mut entities, mut offset) = (Vec::new(), 0);
    for word in text.split_inclusive(char::is_whitespace) {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let length = name.encode_utf16().count();
        let kind = match name.chars().next() {
            Some('/') => Some("bot_command"),
            Some('@') => Some("mention"),
            _ => None,
        };
        let found = |kind| json!({ "type": kind, "offset": offset, "length": length });
        entities.extend(kind.map(found));
        offset += word.encode_utf16().count();
    }
    entities
}
