//! Converts updates that teloxide fails to parse, from their raw JSON as far as possible. If the
//! content of a message is unreadable, its sender gets a reply that names it.

use avocet_channel_kit::{Converted, Unreadable};
use avocet_protocol::chat::{ChatKind, Content, Inbound, Sender};
use avocet_protocol::ids::{DedupeKey, IdError, SenderId};
use serde_json::{Value, json};
use teloxide::types::{ChatId, Message, MessageEntity, MessageId, ThreadId, User};

use crate::bot::{Audience, BotIdentity};
use crate::convert::NOT_MENTIONED;
use crate::message::{ButtonPress, corrected_at, no_correction};
use crate::numbers::read_integer;
use crate::raw_chat::{Fields, read_chat, read_topic};
use crate::update::STOPPED_DRAFT;
use crate::{raw_content, rich_text, update};

/// The fields that a message needs besides its sender, and optional fields, which are dropped one
/// by one if unreadable.
const REQUIRED: [&str; 3] = ["message_id", "date", "chat"];
const OPTIONAL: [&str; 5] =
    ["forward_origin", "is_topic_message", "message_thread_id", "quote", "reply_to_message"];

/// The time of a message whose own time is unreadable.
const UNKNOWN_TIME: i64 = 0;

const OTHER: Converted = Converted::Ignored("of another kind");

impl BotIdentity<'_> {
    /// Converts an update that teloxide fails to parse.
    pub(crate) fn raw_update(&self, raw: &Value) -> Result<Converted, IdError> {
        let fields = |kind: &str| raw.get(kind).and_then(Value::as_object);
        if let Some(message) = fields("message") {
            self.raw_message(message)
        } else if let Some(message) = fields("edited_message") {
            self.raw_edit(message)
        } else if let Some(query) = fields("callback_query") {
            self.raw_press(query)
        } else if let Some(stopped) = fields(STOPPED_DRAFT) {
            self.stopped_draft(stopped, &raw["update_id"])
        } else if update::is_undecodable(raw) {
            Ok(Converted::Ignored("unreadable"))
        } else {
            Ok(OTHER)
        }
    }

    fn raw_message(&self, message: &Fields) -> Result<Converted, IdError> {
        let id = message.get("message_id").and_then(read_integer);
        let (Some((chat, kind)), Some(id)) = (read_chat(message), id) else { return Ok(OTHER) };
        let rich = message.get("rich_message").and_then(rich_text::read_rich_message);
        let text = ["text", "caption"].iter().find_map(|field| message.get(*field)?.as_str());
        let text = text.or(rich.as_deref());
        let is_file = raw_content::file(message).is_some();
        let what = raw_content::kind(message);
        if text.is_none() && !is_file && what.is_none() {
            return Ok(Converted::Ignored("without text"));
        }
        let readable = readable(message, text.unwrap_or_default());
        if kind == ChatKind::Group && !self.is_for_us(chat, message, readable.as_ref()) {
            return Ok(Converted::Ignored(NOT_MENTIONED));
        }
        if let Some(readable) = readable.filter(|_| text.is_some() || is_file) {
            return self.readable_part(message, &readable);
        }
        let Some(what) = what else { return Ok(Converted::Ignored("without text")) };
        let Some(sender) = sender(message, chat, kind)? else {
            return Ok(Converted::Ignored("without a sender"));
        };
        let (address, key) = (self.address(chat, read_topic(message))?, self.key_of(chat, id)?);
        let message = Inbound::new(address, sender, key, Content::default());
        let message = Inbound { chat: kind, from_platform: true, ..message };
        Ok(Converted::Unreadable(Box::new(Unreadable::new(message, what)?)))
    }

    /// Like [`BotIdentity::is_addressed`], even if the message replied to is unreadable.
    fn is_for_us(&self, chat: ChatId, message: &Fields, readable: Option<&Message>) -> bool {
        let replied = message.get("reply_to_message");
        let author = replied.and_then(|replied| person_id(&replied["from"]));
        self.listens_to_all(chat)
            || author == Some(self.me.id.0)
            || readable.is_some_and(|readable| self.is_addressed(readable))
    }

    /// Converts a text, a file, or a caption with a note about its unreadable content.
    fn readable_part(&self, message: &Fields, readable: &Message) -> Result<Converted, IdError> {
        let file = raw_content::file(message);
        let is_text = ["text", "rich_message"].iter().any(|field| message.contains_key(*field));
        let unknown = match (&file, is_text) {
            (None, false) => raw_content::kind(message),
            _ => None,
        };
        let mut converted = self.message(readable, Audience::Bot)?;
        if let Converted::Inbound(inbound) = &mut converted {
            inbound.written_at.take_if(|at| at.0 == UNKNOWN_TIME);
            let content = &mut inbound.content;
            content.attachments.extend(file);
            if let Some(rich) = message.get("rich_message") {
                content.attachments.extend(rich_text::read_rich_files(rich));
            }
            if let Some(unknown) = unknown {
                content.text = format!("{}\n[{unknown}]", content.text);
            }
            // Forwarded text is not the sender's own, even if its author is unknown.
            if message.contains_key("forward_origin") && content.forwarded_from.is_none() {
                content.forwarded_from = Some("somebody".to_owned());
            }
        }
        Ok(converted)
    }

    fn raw_edit(&self, message: &Fields) -> Result<Converted, IdError> {
        let has = |field: &str| message.get(field).is_some_and(|value| !value.is_null());
        let edited = message.get("edit_date").and_then(read_integer);
        let Some(edited) = edited.and_then(|edited| u32::try_from(edited).ok()) else {
            return Ok(Converted::Ignored("edited without a time"));
        };
        match no_correction(has("location"), has("media_group_id")) {
            Some(reason) => Ok(Converted::Ignored(reason)),
            None => corrected_at(self.raw_message(message)?, edited.into()),
        }
    }

    /// Converts a press of the button below a draft to the command `/stop`. The platform does not name
    /// the person, because only private chats have drafts.
    fn stopped_draft(&self, stopped: &Fields, update_id: &Value) -> Result<Converted, IdError> {
        let (chat, draft) = (read_chat(stopped), stopped.get("draft_id").and_then(read_integer));
        let (Some((chat, ChatKind::Private)), Some(draft)) = (chat, draft) else {
            return Ok(OTHER);
        };
        let topic = stopped.get("message_thread_id").and_then(read_integer);
        let topic = topic.and_then(|topic| Some(ThreadId(MessageId(topic.try_into().ok()?))));
        let Some(sender) = sender(stopped, chat, ChatKind::Private)? else { return Ok(OTHER) };
        let key = DedupeKey::parse(&format!("stop{draft}.{update_id}"))?;
        let stop = Inbound::new(self.address(chat, topic)?, sender, key, Content::text("/stop"));
        Ok(Converted::Inbound(Box::new(Inbound { from_platform: true, ..stop })))
    }

    fn raw_press(&self, query: &Fields) -> Result<Converted, IdError> {
        let field = |name: &str| query.get(name).and_then(Value::as_str);
        let (Some(id), Some(text)) = (field("id"), field("data")) else {
            return Ok(Converted::Ignored("a button without text"));
        };
        let from = query.get("from").and_then(read_person);
        let message = query.get("message").and_then(Value::as_object);
        let chat = message.and_then(|message| Some((read_chat(message)?, read_topic(message))));
        let (Some(sender), Some(((chat, kind), topic))) = (from, chat) else { return Ok(OTHER) };
        let address = self.address(chat, topic)?;
        let number = message.and_then(|message| read_integer(message.get("message_id")?));
        let number = number.and_then(|number| number.try_into().ok()).map(MessageId);
        let pressed = number.and_then(|number| self.sent_number(chat, number));
        ButtonPress { id, text, address, chat: kind, sender: sender?, pressed }.convert()
    }
}

/// The sender of a message. A private chat has the id of its person.
fn sender(message: &Fields, chat: ChatId, kind: ChatKind) -> Result<Option<Sender>, IdError> {
    match (message.get("from").and_then(read_person), kind) {
        (Some(sender), _) => sender.map(Some),
        (None, ChatKind::Private) => Ok(Some(Sender::new(SenderId::parse(&chat.to_string())?))),
        (None, ChatKind::Group) => Ok(None),
    }
}

fn person_id(from: &Value) -> Option<u64> {
    read_integer(&from["id"])?.try_into().ok()
}

/// A person with an id; other fields may be missing.
pub(crate) fn read_person(from: &Value) -> Option<Result<Sender, IdError>> {
    let id = person_id(from)?;
    let names = ["first_name", "last_name"].iter().filter_map(|name| from[name].as_str());
    let name = names.collect::<Vec<_>>().join(" ");
    let is_bot = from["is_bot"] == true;
    let name = (!name.is_empty()).then_some(name);
    Some(SenderId::parse(&id.to_string()).map(|id| Sender { id, name, is_bot }))
}

/// The message as a text, with all optional fields that teloxide can parse.
fn readable(message: &Fields, text: &str) -> Option<Message> {
    let field = |name: &&str| Some(((*name).to_owned(), message.get(*name)?.clone()));
    let mut fields: Fields = REQUIRED.iter().filter_map(field).collect();
    fields.extend(readable_author(message).map(|author| ("from".to_owned(), author)));
    fields.insert("text".to_owned(), text.into());
    fields.insert("entities".to_owned(), entities(message));
    let read = |fields: &Fields| update::message(&Value::Object(fields.clone()));
    let mut readable = read(&fields).or_else(|| {
        repair_required(&mut fields);
        read(&fields)
    })?;
    for (name, value) in OPTIONAL.iter().filter_map(field) {
        fields.insert(name.clone(), value);
        match read(&fields) {
            Some(more) => readable = more,
            None => drop(fields.remove(&name)),
        }
    }
    Some(readable)
}

/// Replaces the unreadable parts of the fields that a message needs. An unreadable time becomes
/// [`UNKNOWN_TIME`].
fn repair_required(fields: &mut Fields) {
    if let Some(id) = fields.get("message_id").and_then(read_integer) {
        fields.insert("message_id".to_owned(), id.into());
    }
    let date = fields.get("date").and_then(read_integer);
    let date = date.filter(|date| u32::try_from(*date).is_ok()).unwrap_or(UNKNOWN_TIME);
    fields.insert("date".to_owned(), date.into());
    if let (Some((id, _)), Some(chat)) = (read_chat(fields), fields.get("chat")) {
        let name = |field: &str| chat[field].as_str().unwrap_or_default();
        let whole = json!({ "id": id, "type": chat["type"], "is_forum": chat["is_forum"] == true,
            "title": name("title"), "first_name": name("first_name") });
        fields.insert("chat".to_owned(), whole);
    }
}

/// The entities of the text or caption that teloxide can parse.
fn entities(message: &Fields) -> Value {
    let field = if message.contains_key("text") { "entities" } else { "caption_entities" };
    let entities = message.get(field).and_then(Value::as_array).into_iter().flatten();
    entities.filter(|entity| update::read::<MessageEntity>(entity).is_some()).cloned().collect()
}

/// The author of a message. A private chat has the id of its person, so that an unreadable author
/// does not cost the text.
fn readable_author(message: &Fields) -> Option<Value> {
    let from = message.get("from");
    match read_chat(message) {
        Some((id, ChatKind::Private)) if from.is_none_or(|from| person_id(from).is_none()) => {
            let name = message["chat"]["first_name"].as_str().unwrap_or_default();
            Some(json!({ "id": id, "is_bot": false, "first_name": name }))
        }
        _ => from.map(readable_person),
    }
}

/// A person in a form that teloxide can parse.
fn readable_person(from: &Value) -> Value {
    match person_id(from) {
        Some(id) if update::read::<User>(from).is_none() => {
            let name = from["first_name"].as_str().unwrap_or_default();
            json!({ "id": id, "is_bot": from["is_bot"] == true, "first_name": name })
        }
        _ => from.clone(),
    }
}

#[cfg(test)]
#[path = "lenient_tests.rs"]
pub(crate) mod tests;
