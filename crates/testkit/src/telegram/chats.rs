//! The chats: their access rules, and their messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::text::Formatted;
use super::wire::ApiError;
use crate::multipart::Upload;

/// A message of the bot in its chat.
#[derive(Debug, Clone, PartialEq)]
pub struct SentMessage {
    /// The id of the chat.
    pub chat: i64,
    /// The id of the message, unique in its chat.
    pub id: i64,
    /// The id of the topic.
    pub thread: Option<i64>,
    /// The id of the topic in the direct messages of a channel.
    pub direct_topic: Option<i64>,
    /// The id of the message that it replies to.
    pub reply_to: Option<i64>,
    /// The text or caption, after the last edit.
    pub text: String,
    /// The entities of the text.
    pub entities: Vec<Value>,
    /// The inline keyboard.
    pub keyboard: Option<Value>,
    /// `true` if a link in the text shows no preview.
    pub preview_off: bool,
    /// The texts before each edit, the oldest first.
    pub edits: Vec<String>,
    /// `true` if the bot or a user has deleted it.
    pub deleted: bool,
    /// The file of a method such as `sendDocument`.
    pub file: Option<SentFile>,
    /// The answers and settings of a poll, whose question is the text.
    pub poll: Option<Value>,
    /// The id of its album.
    pub album: Option<String>,
    /// The blocks of a rich message.
    pub rich: Option<Value>,
}

/// A file in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFile {
    /// `true` if it is shown as an image.
    pub is_photo: bool,
    /// The parameter that held it: `audio`, `document`, `photo`, `video` or `voice`.
    pub shown_as: String,
    /// Its identifier for further messages.
    pub id: String,
    /// The uploaded content. `None` if it was sent by its identifier.
    pub upload: Option<Upload>,
}

/// The reason why a chat accepts no messages.
#[derive(Debug, Clone, Copy)]
enum Closed {
    Blocked,
    Kicked,
    Migrated(i64),
}

#[derive(Debug, Default)]
struct ChatState {
    threads: BTreeSet<i64>,
    closed_threads: BTreeSet<i64>,
    /// Not empty for the direct messages of a channel.
    direct_topics: BTreeSet<i64>,
    /// The id of the newest message.
    last: i64,
    /// The date of every message, of the bot and of users.
    messages: BTreeMap<i64, i64>,
    closed: Option<Closed>,
}

/// All chats that the bot knows.
#[derive(Debug, Default)]
pub(super) struct Chats {
    chats: BTreeMap<i64, ChatState>,
    sent: Vec<SentMessage>,
}

/// A message of the bot before it is sent.
pub(super) struct UnsentMessage {
    pub(super) chat: i64,
    pub(super) thread: Option<i64>,
    pub(super) direct_topic: Option<i64>,
    pub(super) reply_to: Option<i64>,
    pub(super) keyboard: Option<Value>,
    pub(super) preview_off: bool,
    pub(super) formatted: Formatted,
    pub(super) file: Option<SentFile>,
    pub(super) poll: Option<Value>,
    pub(super) album: Option<String>,
    pub(super) rich: Option<Value>,
}

impl Chats {
    pub(super) fn open(&mut self, chat: i64) {
        self.chats.entry(chat).or_default();
    }

    pub(super) fn open_thread(&mut self, chat: i64, thread: i64) {
        self.chats.entry(chat).or_default().threads.insert(thread);
    }

    pub(super) fn open_direct_topic(&mut self, chat: i64, topic: i64) {
        self.chats.entry(chat).or_default().direct_topics.insert(topic);
    }

    /// Checks the topic of a message. The direct messages of a channel need one, other chats have
    /// none (Bot API, `direct_messages_topic_id`).
    pub(super) fn check_direct_topic(&self, chat: i64, topic: Option<i64>) -> Result<(), ApiError> {
        let known = &self.chats[&chat].direct_topics;
        let error = match topic {
            None if known.is_empty() => return Ok(()),
            Some(topic) if known.contains(&topic) => return Ok(()),
            None => "direct messages topic must be specified",
            Some(_) if known.is_empty() => "chat isn't a direct messages chat",
            Some(_) => "direct messages topic not found",
        };
        Err(ApiError::bad_request(error))
    }

    /// Deletes a topic and the bot's messages in it.
    pub(super) fn delete_thread(&mut self, chat: i64, thread: i64) {
        let found = self.chats.entry(chat).or_default();
        found.threads.remove(&thread);
        let in_it = |sent: &&mut SentMessage| sent.chat == chat && sent.thread == Some(thread);
        for sent in self.sent.iter_mut().filter(in_it) {
            sent.deleted = true;
            found.messages.remove(&sent.id);
        }
    }

    /// Closes a topic. Only administrators may write in a closed topic.
    pub(super) fn close_thread(&mut self, chat: i64, thread: i64) {
        self.chats.entry(chat).or_default().closed_threads.insert(thread);
    }

    pub(super) fn reopen_thread(&mut self, chat: i64, thread: i64) {
        self.chats.entry(chat).or_default().closed_threads.remove(&thread);
    }

    pub(super) fn block(&mut self, chat: i64) {
        self.chats.entry(chat).or_default().closed = Some(Closed::Blocked);
    }

    pub(super) fn kick(&mut self, chat: i64) {
        self.chats.entry(chat).or_default().closed = Some(Closed::Kicked);
    }

    pub(super) fn migrate(&mut self, from: i64, to: i64) {
        self.chats.entry(from).or_default().closed = Some(Closed::Migrated(to));
        self.open(to);
    }

    /// Allows messages to the chat again.
    pub(super) fn reopen(&mut self, chat: i64) {
        self.chats.entry(chat).or_default().closed = None;
    }

    /// Adds a user's message to a chat and returns its id.
    pub(super) fn heard(&mut self, chat: i64, date: i64) -> i64 {
        self.chats.entry(chat).or_default().next(date)
    }

    pub(super) fn sent(&self) -> &[SentMessage] {
        &self.sent
    }

    /// Checks that the chat is known and open.
    pub(super) fn check_open(&self, chat: i64) -> Result<(), ApiError> {
        let Some(found) = self.chats.get(&chat) else {
            return Err(ApiError::bad_request("chat not found"));
        };
        match found.closed {
            None => Ok(()),
            Some(Closed::Blocked) => Err(ApiError::forbidden("bot was blocked by the user")),
            Some(Closed::Kicked) => {
                let kind = if is_supergroup(chat) { "supergroup" } else { "group" };
                Err(ApiError::forbidden(format!("bot was kicked from the {kind} chat")))
            }
            Some(Closed::Migrated(to)) => Err(ApiError::migrated(to)),
        }
    }

    pub(super) fn check_thread(&self, chat: i64, thread: i64) -> Result<(), ApiError> {
        let found = &self.chats[&chat];
        if found.closed_threads.contains(&thread) {
            return Err(ApiError::bad_request("TOPIC_CLOSED"));
        }
        if found.threads.contains(&thread) {
            return Ok(());
        }
        Err(ApiError::bad_request("message thread not found"))
    }

    pub(super) fn has_message(&self, chat: i64, message: i64) -> bool {
        self.chats.get(&chat).is_some_and(|chat| chat.messages.contains_key(&message))
    }

    /// Returns a message of the bot in the platform's format.
    pub(super) fn describe(&self, (chat, message): (i64, i64), me: &Value) -> Option<Value> {
        let date = self.chats.get(&chat)?.messages.get(&message)?;
        let is_it = |sent: &&SentMessage| sent.chat == chat && sent.id == message;
        Some(self.sent.iter().find(is_it)?.describe(me, *date))
    }

    /// Sends a message and returns it in the platform's format.
    pub(super) fn send(&mut self, draft: UnsentMessage, me: &Value, date: i64) -> Value {
        let id = self.chats.get_mut(&draft.chat).unwrap().next(date);
        let message = SentMessage {
            chat: draft.chat,
            id,
            thread: draft.thread,
            direct_topic: draft.direct_topic,
            reply_to: draft.reply_to,
            text: draft.formatted.text,
            entities: draft.formatted.entities,
            keyboard: draft.keyboard,
            preview_off: draft.preview_off,
            edits: Vec::new(),
            deleted: false,
            file: draft.file,
            poll: draft.poll,
            album: draft.album,
            rich: draft.rich,
        };
        let described = message.describe(me, date);
        self.sent.push(message);
        described
    }

    /// Replaces the keyboard of a message, and its text if there is a new one.
    pub(super) fn edit(
        &mut self,
        (chat, message): (i64, i64),
        formatted: Option<Formatted>,
        keyboard: Option<Value>,
        me: &Value,
        now: i64,
    ) -> Result<Value, ApiError> {
        let date = self.date(chat, message, "edit")?;
        let is_it = |sent: &&mut SentMessage| sent.chat == chat && sent.id == message;
        let Some(sent) = self.sent.iter_mut().find(is_it) else {
            return Err(ApiError::bad_request("message can't be edited"));
        };
        if formatted.is_some() && (sent.file.is_some() || sent.poll.is_some()) {
            return Err(ApiError::bad_request("there is no text in the message to edit"));
        }
        let old = Formatted { text: sent.text.clone(), entities: sent.entities.clone() };
        let new = formatted.unwrap_or_else(|| old.clone());
        if old == new && sent.keyboard == keyboard {
            return Err(ApiError::bad_request(
                "message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            ));
        }
        if old != new {
            sent.edits.push(old.text);
        }
        sent.rich = None;
        (sent.text, sent.entities, sent.keyboard) = (new.text, new.entities, keyboard);
        let mut described = sent.describe(me, date);
        described["edit_date"] = json!(now);
        Ok(described)
    }

    /// Sets whether links show a preview. Each edit sets this again.
    pub(super) fn set_preview_off(&mut self, (chat, message): (i64, i64), off: bool) {
        let is_it = |sent: &&mut SentMessage| sent.chat == chat && sent.id == message;
        if let Some(sent) = self.sent.iter_mut().find(is_it) {
            sent.preview_off = off;
        }
    }

    /// Makes an edited message a rich one.
    pub(super) fn set_rich(&mut self, (chat, message): (i64, i64), rich: Value) {
        let is_it = |sent: &&mut SentMessage| sent.chat == chat && sent.id == message;
        if let Some(sent) = self.sent.iter_mut().find(is_it) {
            sent.rich = Some(rich);
        }
    }

    /// Deletes a message of the last two days. In a group, only messages of the bot can be deleted
    /// (deleteMessage, Bot API).
    pub(super) fn delete(&mut self, chat: i64, message: i64, now: i64) -> Result<(), ApiError> {
        const TOO_OLD: i64 = 48 * 60 * 60;
        let date = self.date(chat, message, "delete")?;
        let is_it = |sent: &&mut SentMessage| sent.chat == chat && sent.id == message;
        let sent = self.sent.iter_mut().find(is_it);
        if now - date >= TOO_OLD || (sent.is_none() && chat < 0) {
            return Err(ApiError::bad_request("message can't be deleted"));
        }
        if let Some(sent) = sent {
            sent.deleted = true;
        }
        self.chats.get_mut(&chat).unwrap().messages.remove(&message);
        Ok(())
    }

    /// Returns the date of a message, or an error if it does not exist.
    fn date(&self, chat: i64, message: i64, to: &str) -> Result<i64, ApiError> {
        let found = self.chats[&chat].messages.get(&message).copied();
        found.ok_or_else(|| ApiError::bad_request(format!("message to {to} not found")))
    }
}

impl ChatState {
    fn next(&mut self, date: i64) -> i64 {
        // Ids are unique only within their chat.
        self.last += 1;
        self.messages.insert(self.last, date);
        self.last
    }
}

impl SentMessage {
    /// Returns the buttons of its keyboard, in reading order.
    #[must_use]
    pub fn buttons(&self) -> Vec<Value> {
        let rows =
            self.keyboard.iter().filter_map(|keyboard| keyboard["inline_keyboard"].as_array());
        rows.flatten().filter_map(Value::as_array).flatten().cloned().collect()
    }

    fn describe(&self, me: &Value, date: i64) -> Value {
        let mut message = json!({
            "message_id": self.id, "date": date, "from": me, "chat": describe(self.chat) });
        let (text, entities) = match &self.file {
            None => ("text", "entities"),
            Some(file) => {
                file.describe(&mut message);
                ("caption", "caption_entities")
            }
        };
        if let Some(rich) = &self.rich {
            message["rich_message"] = rich.clone();
        } else if !self.text.is_empty() {
            message[text] = json!(self.text);
        }
        if !self.entities.is_empty() {
            message[entities] = json!(self.entities);
        }
        if let Some(thread) = self.thread {
            message["message_thread_id"] = json!(thread);
            message["is_topic_message"] = json!(true);
        }
        if let Some(topic) = self.direct_topic {
            message["direct_messages_topic"] = json!({ "topic_id": topic });
        }
        if let Some(album) = &self.album {
            message["media_group_id"] = json!(album);
        }
        if let Some(keyboard) = &self.keyboard {
            message["reply_markup"] = keyboard.clone();
        }
        message
    }
}

impl SentFile {
    fn describe(&self, message: &mut Value) {
        let size = self.upload.as_ref().map_or(0, |upload| upload.bytes.len());
        let mut file = json!({
            "file_id": self.id, "file_unique_id": format!("u{}", self.id), "file_size": size });
        if self.is_photo {
            file["width"] = json!(1);
            file["height"] = json!(1);
            message["photo"] = json!([file]);
        } else {
            let name = self.upload.as_ref().map_or("file", |upload| &upload.name);
            file["file_name"] = json!(name);
            if self.shown_as != "document" {
                file["duration"] = json!(1);
            }
            if self.shown_as == "video" {
                (file["width"], file["height"]) = (json!(1), json!(1));
            }
            message[&self.shown_as] = file;
        }
    }
}

/// Returns `true` for the id of a supergroup.
pub(super) fn is_supergroup(chat: i64) -> bool {
    chat < -1_000_000_000_000
}

/// Returns a chat in the platform's format.
pub(super) fn describe(chat: i64) -> Value {
    match chat {
        0.. => json!({ "id": chat, "type": "private", "first_name": format!("User {chat}") }),
        _ if is_supergroup(chat) => {
            json!({ "id": chat, "type": "supergroup", "title": "A supergroup", "is_forum": true })
        }
        _ => json!({ "id": chat, "type": "group", "title": "A group",
            "all_members_are_administrators": false }),
    }
}

#[cfg(test)]
#[path = "chats_tests.rs"]
mod tests;
