//! Actions of users, in the platform's format of updates.

use serde_json::{Value, json};

use super::PostedMessage;
use super::bot::BotState;
use super::chats::{SentMessage, describe};

/// A user's message before it is in its chat.
#[derive(Debug, Clone)]
pub struct UserMessage {
    pub(super) chat: i64,
    pub(super) thread: Option<i64>,
    pub(super) direct_topic: Option<i64>,
    pub(super) reply_to: Option<i64>,
    pub(super) body: Value,
}

impl UserMessage {
    /// Returns a text in a private chat, which has the id of the user.
    #[must_use]
    pub fn private(user: i64, text: &str) -> Self {
        Self::group(user, user, text)
    }

    /// Returns a text in a group (a small negative id) or a supergroup (below -1000000000000).
    #[must_use]
    pub fn group(user: i64, chat: i64, text: &str) -> Self {
        let mut body = json!({ "from": person(user), "chat": describe(chat), "text": text });
        let entities = found_entities(text);
        if !entities.is_empty() {
            body["entities"] = json!(entities);
        }
        Self { chat, thread: None, direct_topic: None, reply_to: None, body }
    }

    /// Returns a message without a text, in any chat, for example with
    /// `("photo", Self::photo("file-1"))`.
    #[must_use]
    pub fn thing(user: i64, chat: i64, kind: &str, thing: Value) -> Self {
        let body = json!({ "from": person(user), "chat": describe(chat) });
        Self { chat, thread: None, direct_topic: None, reply_to: None, body }.with(kind, thing)
    }

    /// Returns the value of the field `photo`: a list of sizes.
    #[must_use]
    pub fn photo(file: &str) -> Value {
        json!([{ "file_id": file, "file_unique_id": format!("u{file}"), "width": 90, "height": 60,
            "file_size": 1000 }])
    }

    /// Puts the message into a topic of a supergroup.
    #[must_use]
    pub fn thread(self, thread: i64) -> Self {
        let said = self.with("message_thread_id", thread.into());
        Self { thread: Some(thread), ..said.with("is_topic_message", true.into()) }
    }

    /// Puts the message into a topic of the direct messages of a channel, which are a supergroup.
    #[must_use]
    pub fn direct_topic(mut self, topic: i64) -> Self {
        let chat = json!({ "id": self.chat, "type": "supergroup", "title": "A channel",
            "is_direct_messages": true });
        let user = self.body["from"].clone();
        self.body["chat"] = chat;
        self.body["direct_messages_topic"] = json!({ "topic_id": topic, "user": user });
        Self { direct_topic: Some(topic), ..self }
    }

    /// Makes it a reply to a message of the same chat.
    #[must_use]
    pub fn reply_to(self, message: i64) -> Self {
        Self { reply_to: Some(message), ..self }
    }

    /// Makes its author a bot.
    #[must_use]
    pub fn by_bot(mut self) -> Self {
        self.body["from"]["is_bot"] = json!(true);
        self
    }

    /// Sets a field, for example `("caption", "look")`.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.body[field] = value;
        self
    }

    /// Makes it a message that was forwarded from another user.
    #[must_use]
    pub fn forwarded_from(self, user: i64, date: i64) -> Self {
        let origin = json!({ "type": "user", "date": date, "sender_user": person(user) });
        self.with("forward_origin", origin)
    }
}

impl BotState {
    /// Adds a user's message.
    pub(super) fn hear(&mut self, said: UserMessage) -> PostedMessage {
        let (chat, date) = (said.chat, self.date());
        self.chats.open(chat);
        if let Some(thread) = said.thread {
            self.chats.open_thread(chat, thread);
        }
        if let Some(topic) = said.direct_topic {
            self.chats.open_direct_topic(chat, topic);
        }
        let id = self.chats.heard(chat, date);
        let mut message = said.body;
        message["message_id"] = json!(id);
        message["date"] = json!(date);
        if let Some(replied) = said.reply_to {
            message["reply_to_message"] = self.shown((chat, replied));
        }
        self.heard.insert((chat, id), message.clone());
        PostedMessage { chat, id, update: self.push("message", message) }
    }

    /// Returns a message in the form inside of another one: without its own `reply_to_message`.
    fn shown(&self, place: (i64, i64)) -> Value {
        let mut message = self.heard.get(&place).cloned().unwrap_or_else(|| {
            self.chats.describe(place, &self.me()).expect("a reply to a message of this chat")
        });
        message.as_object_mut().unwrap().remove("reply_to_message");
        message
    }

    /// Changes the text of a user's message.
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

    /// Changes the status of the bot in a chat.
    pub(super) fn hear_membership(&mut self, user: i64, chat: i64, [old, new]: [&str; 2]) {
        let member = |status| match status {
            "kicked" => json!({ "status": status, "user": self.me(), "until_date": 0 }),
            _ => json!({ "status": status, "user": self.me() }),
        };
        let body = json!({ "chat": describe(chat), "from": person(user), "date": self.date(),
            "old_chat_member": member(old), "new_chat_member": member(new) });
        self.push("my_chat_member", body);
    }

    /// Presses a button.
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

/// Returns a user in the platform's format.
pub(super) fn person(user: i64) -> Value {
    json!({ "id": user, "is_bot": false, "first_name": format!("User {user}"),
        "username": format!("user{user}"), "language_code": "en" })
}

/// Finds the entities that the platform finds by itself. Only commands and mentions are needed.
pub(super) fn found_entities(text: &str) -> Vec<Value> {
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
