//! A message in private that the client cannot read, read from its JSON as far as that goes: what was
//! said is heard, and what cannot be made out is named to whoever sent it.

use std::slice;

use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, ChatKind, IdError, Sender, SenderId,
};
use serde_json::{Map, Value};
use teloxide::types::{ChatId, Message};

use crate::convert::{Bot, Converted};
use crate::unreadable::Unreadable;
use crate::update;

/// What a message needs to be one, and what may be beside it, each left out if it cannot be read.
const NEEDED: [&str; 4] = ["message_id", "date", "chat", "from"];
const WELCOME: [&str; 6] = [
    "entities",
    "forward_origin",
    "is_topic_message",
    "message_thread_id",
    "quote",
    "reply_to_message",
];

/// What is in a message beside what it carries.
const BESIDE: [&str; 22] = [
    "author_signature",
    "business_connection_id",
    "caption",
    "caption_entities",
    "chat",
    "date",
    "edit_date",
    "effect_id",
    "external_reply",
    "forward_origin",
    "from",
    "has_media_spoiler",
    "has_protected_content",
    "is_from_offline",
    "media_group_id",
    "message_id",
    "message_thread_id",
    "quote",
    "reply_markup",
    "reply_to_message",
    "show_caption_above_media",
    "via_bot",
];

/// What happens in a chat and is said to nobody.
const HAPPENINGS: [&str; 11] = [
    "boost_added",
    "chat_background_set",
    "checklist_tasks_added",
    "checklist_tasks_done",
    "connected_website",
    "left_chat_member",
    "message_auto_delete_timer_changed",
    "new_chat_members",
    "pinned_message",
    "proximity_alert_triggered",
    "write_access_allowed",
];

/// What a message may carry, by its field.
const BODIES: [(&str, &str); 25] = [
    ("animation", "an animation"),
    ("audio", "an audio file"),
    ("chat_shared", "a shared chat"),
    ("checklist", "a checklist"),
    ("contact", "a contact"),
    ("dice", "a dice"),
    ("document", "a file"),
    ("game", "a game"),
    ("gift", "a gift"),
    ("giveaway", "a giveaway"),
    ("invoice", "an invoice"),
    ("paid_media", "paid media"),
    ("passport_data", "passport data"),
    ("photo", "a photo"),
    ("poll", "a poll"),
    ("sticker", "a sticker"),
    ("story", "a story"),
    ("successful_payment", "a payment"),
    ("text", "a text"),
    ("unique_gift", "a gift"),
    ("venue", "a venue"),
    ("location", "a location"),
    ("video", "a video"),
    ("video_note", "a video note"),
    ("voice", "a voice message"),
];

/// The longest name of a field that is shown to anybody.
const MAX_FIELD: usize = 40;

impl Bot<'_> {
    /// Reads an update that the client cannot read.
    pub(crate) fn misread(&self, update: &Value) -> Result<Converted, IdError> {
        let Some(message) = update.get("message").and_then(Value::as_object) else {
            return Ok(Converted::Ignored("of another kind"));
        };
        let private = message.get("chat").filter(|chat| chat["type"] == "private");
        let (Some(chat), Some(id)) = (
            private.and_then(|chat| chat["id"].as_i64()),
            message.get("message_id").and_then(Value::as_i64),
        ) else {
            return Ok(Converted::Ignored("of another kind"));
        };
        if let Some(heard) = self.heard(message)? {
            return Ok(heard);
        }
        let Some(kind) = body(message) else { return Ok(Converted::Ignored("without text")) };
        // In private, the chat has the id of the person.
        let name = message.get("from").and_then(|from| from["first_name"].as_str());
        let sender = Sender {
            name: name.map(str::to_owned),
            ..Sender::new(SenderId::parse(&chat.to_string())?)
        };
        let address = self.address(ChatId(chat), None)?;
        let key = self.key_of(ChatId(chat), id)?;
        let chat = (address, ChatKind::Private);
        Ok(Converted::Unreadable(Box::new(Unreadable::new(chat, key, sender, kind)?)))
    }

    /// What was said, if anything was: a text, a file, or a text below what is named instead.
    fn heard(&self, message: &Map<String, Value>) -> Result<Option<Converted>, IdError> {
        let said = ["text", "caption"].iter().find_map(|field| message.get(*field)?.as_str());
        let file = file(message);
        if said.is_none() && file.is_none() {
            return Ok(None);
        }
        let unknown = match (&file, message.contains_key("text")) {
            (None, false) => body(message),
            _ => None,
        };
        let Some(readable) = readable(message, said.unwrap_or_default()) else { return Ok(None) };
        let mut converted = self.message(&readable, true)?;
        if let Converted::Inbound(inbound) = &mut converted {
            let content = &mut inbound.content;
            content.attachments.extend(file);
            if let Some(unknown) = unknown {
                content.text = format!("{}\n[{unknown}]", content.text);
            }
            // Words of others are not those of the sender, also where it is not known whose.
            if message.contains_key("forward_origin") && content.forwarded_from.is_none() {
                content.forwarded_from = Some("somebody".to_owned());
            }
        }
        Ok(Some(converted))
    }
}

/// The message as a text, with as much of what is beside it as the client can read.
fn readable(message: &Map<String, Value>, text: &str) -> Option<Message> {
    let field = |name: &&str| Some(((*name).to_owned(), message.get(*name)?.clone()));
    let mut fields: Map<String, Value> = NEEDED.iter().filter_map(field).collect();
    fields.insert("text".to_owned(), text.into());
    let read = |fields: &Map<String, Value>| update::message(&Value::Object(fields.clone()));
    let mut readable = read(&fields)?;
    for (name, value) in WELCOME.iter().filter_map(field) {
        fields.insert(name.clone(), value);
        match read(&fields) {
            Some(more) => readable = more,
            None => drop(fields.remove(&name)),
        }
    }
    Some(readable)
}

/// The file that a message carries, if the platform says where it is.
fn file(message: &Map<String, Value>) -> Option<Attachment> {
    use AttachmentKind::{Audio, Document, Image, Sticker, Video, Voice};
    // An animation is a document as well. What the platform always makes is of a known type.
    let kinds = [
        ("animation", Video, None),
        ("audio", Audio, None),
        ("document", Document, None),
        ("photo", Image, Some("image/jpeg")),
        ("sticker", Sticker, None),
        ("video", Video, None),
        ("video_note", Video, Some("video/mp4")),
        ("voice", Voice, Some("audio/ogg")),
    ];
    kinds.into_iter().find_map(|(field, kind, media_type)| {
        let body = message.get(field)?;
        // Of a photo's sizes the largest is the last.
        let sizes = body.as_array().map_or(slice::from_ref(body), Vec::as_slice);
        let (meta, id) = sizes
            .iter()
            .rev()
            .find_map(|meta| Some((meta, meta["file_id"].as_str().filter(|id| !id.is_empty())?)))?;
        let said = meta["mime_type"].as_str().filter(|said| said.contains('/'));
        let source = AttachmentSource::Platform(id.to_owned());
        Some(Attachment {
            name: meta["file_name"].as_str().map(str::to_owned),
            media_type: said.or(media_type).map(str::to_owned),
            bytes: meta["file_size"].as_u64(),
            seconds: meta["duration"].as_u64().and_then(|seconds| seconds.try_into().ok()),
            ..Attachment::new(kind, source)
        })
    })
}

/// What a message carries, with its article; none if it is nothing, or tells of something that happens
/// in the chat.
fn body(message: &Map<String, Value>) -> Option<String> {
    let has = |field: &str| message.get(field).is_some_and(|value| !value.is_null());
    if let Some((_, what)) = BODIES.iter().find(|(field, _)| has(field)) {
        return Some(format!("{what} that Telegram describes in a way I do not know"));
    }
    let is_new = |field: &&String| {
        has(field) && ![&BESIDE[..], &HAPPENINGS[..]].concat().contains(&field.as_str())
    };
    let field = message.keys().find(is_new)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    Some(match field.len() <= MAX_FIELD && field.chars().all(plain) {
        true => format!("something that Telegram calls “{field}”, which is new to me"),
        false => "something that is new to me".to_owned(),
    })
}

#[cfg(test)]
#[path = "misread_tests.rs"]
mod tests;
