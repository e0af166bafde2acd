//! Parses messages and interactions leniently: parts that serenity cannot parse are left out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use serenity::model::application::Interaction;
use serenity::model::channel::{Attachment, Message, MessageSnapshot};
use serenity::model::id::{AttachmentId, MessageId, UserId};
use serenity::model::user::User;

use crate::cards::reduce_cards;

/// Replaces an unreadable file, below a readable text.
const UNKNOWN_FILE: &str = "[a file that Discord describes in an unknown way]";

/// The author of a message that is replied to, if Discord does not describe the author.
const SOMEBODY: (u64, &str) = (1, "somebody");

/// Reads a message without its unreadable parts. Its cards become one embed. Returns `None` if its
/// id, author or kind is unreadable.
pub(crate) fn message(data: &Value) -> Option<Message> {
    let reduced = reduce_cards(data);
    let data = reduced.as_ref().unwrap_or(data);
    Message::deserialize(data).ok().or_else(|| partial_message(data))
}

fn partial_message(data: &Value) -> Option<Message> {
    let fields = data.as_object()?;
    let id = MessageId::deserialize(&data["id"]).ok()?;
    let author = author(&data["author"])?;
    let mut base = empty_message(id, &data["channel_id"], &json!(author));
    base["type"] = data.get("type").cloned().unwrap_or(json!(0));
    let mut fields = fields.clone();
    repair_files(&mut fields);
    repair_snapshots(&mut fields, id);
    if let Some(replied) = fields.get_mut("referenced_message") {
        repair_replied(replied, id, &data["channel_id"]);
    }
    let (mut message, unread) = as_far_as_possible::<Message>(base, &fields)?;
    tracing::info!(channel = %message.channel_id, message = %id, ?unread, "cannot read these fields of a message; leaving them out");
    let says_something = !message.content.trim().is_empty() || !message.attachments.is_empty();
    if unread.contains(&"attachments") && says_something {
        message.content.push_str(&format!("\n{UNKNOWN_FILE}"));
    }
    Some(message)
}

/// A plain message without content.
fn empty_message(id: MessageId, channel: &Value, author: &Value) -> Value {
    json!({
        "id": id, "channel_id": channel, "author": author, "content": "",
        "timestamp": id.created_at(), "edited_timestamp": null, "tts": false,
        "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
        "embeds": [], "pinned": false, "type": 0,
    })
}

/// Leaves out the unreadable fields of files. A file can be fetched by its id.
fn repair_files(message: &mut Map<String, Value>) {
    let files = message.get_mut("attachments").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten() {
        if AttachmentId::deserialize(&file["id"]).is_ok() {
            let base = json!({ "id": file["id"], "filename": "file", "size": 0, "url": "",
                "proxy_url": "" });
            repair::<Attachment>(file, base);
        }
    }
}

/// Leaves out the unreadable fields of forwarded messages.
fn repair_snapshots(message: &mut Map<String, Value>, id: MessageId) {
    let snapshots = message.get_mut("message_snapshots").and_then(Value::as_array_mut);
    for snapshot in snapshots.into_iter().flatten() {
        let forwarded = snapshot.get_mut("message");
        if let Some(fields) = forwarded.and_then(Value::as_object_mut) {
            repair_files(fields);
            let base = json!({ "content": "", "timestamp": id.created_at(),
                "edited_timestamp": null, "mentions": [], "attachments": [], "embeds": [],
                "type": 0 });
            repair::<MessageSnapshot>(&mut snapshot["message"], base);
        }
    }
}

/// Leaves out the unreadable fields of a message that is replied to. `below` is the reply.
fn repair_replied(message: &mut Value, below: MessageId, channel: &Value) {
    if let Some(fields) = message.as_object_mut() {
        repair_files(fields);
        repair_snapshots(fields, below);
        let id = fields.get("id").and_then(|id| MessageId::deserialize(id).ok()).unwrap_or(below);
        let (author_id, name) = SOMEBODY;
        let somebody = json!({ "id": author_id.to_string(), "username": name });
        let author = fields.remove("author").and_then(|data| author(&data));
        let author = author.map_or(somebody, |author| json!(author));
        repair::<Message>(message, empty_message(id, channel, &author));
    }
}

/// Leaves out the fields that `T` cannot have. `base` has those that it needs.
fn repair<T: DeserializeOwned>(part: &mut Value, base: Value) {
    if T::deserialize(&*part).is_ok() {
        return;
    }
    let fields = part.as_object().cloned().unwrap_or_default();
    let Value::Object(mut whole) = base else { return };
    for (name, value) in fields {
        let before = whole.insert(name.clone(), value);
        if T::deserialize(Value::Object(whole.clone())).is_err() {
            match before {
                Some(before) => drop(whole.insert(name, before)),
                None => drop(whole.remove(&name)),
            }
        }
    }
    *part = Value::Object(whole);
}

/// Reads an author; the id is enough.
fn author(data: &Value) -> Option<User> {
    UserId::deserialize(&data["id"]).ok()?;
    let base = json!({ "id": data["id"], "username": data["id"] });
    as_far_as_possible(base, data.as_object()?).map(|(author, _)| author)
}

/// Returns `base` with every readable field, and of lists every readable part. Also returns the
/// names of the fields left out.
fn as_far_as_possible<T: DeserializeOwned>(
    base: Value,
    fields: &Map<String, Value>,
) -> Option<(T, Vec<&str>)> {
    let Value::Object(mut whole) = base else { return None };
    let reads = |whole: &Map<String, Value>| T::deserialize(Value::Object(whole.clone())).ok();
    let mut read = reads(&whole)?;
    let mut unread = Vec::new();
    for (name, value) in fields {
        let before = whole.insert(name.clone(), value.clone());
        if let Some(more) = reads(&whole) {
            read = more;
            continue;
        }
        unread.push(name.as_str());
        let mut parts = value.as_array().cloned().unwrap_or_default();
        parts.retain(|part| {
            whole.insert(name.clone(), json!([part]));
            reads(&whole).is_some()
        });
        let instead = if parts.is_empty() { before } else { Some(parts.into()) };
        match instead {
            Some(instead) => drop(whole.insert(name.clone(), instead)),
            None => drop(whole.remove(name)),
        }
        read = reads(&whole)?;
    }
    Some((read, unread))
}

/// Reads an interaction; the message with its button may be unreadable in part.
pub(crate) fn interaction(data: &Value) -> Option<Interaction> {
    if let Ok(interaction) = Interaction::deserialize(data) {
        return Some(interaction);
    }
    let mut data = data.clone();
    let fields = data.as_object_mut()?;
    fields.retain(|name, _| !["channel", "guild", "entitlements"].contains(&name.as_str()));
    fields.insert("entitlements".to_owned(), json!([]));
    if let Some(below) = fields.get_mut("message") {
        *below = serde_json::to_value(message(below)?).ok()?;
    }
    Interaction::deserialize(&data).ok()
}

/// Reads an optional field for serde; `None` if it is unreadable.
pub(crate) fn readable_field<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    field: D,
) -> Result<Option<T>, D::Error> {
    Value::deserialize(field).map(|value| T::deserialize(value).ok())
}

/// Reads a list for serde, without its unreadable parts.
pub(crate) fn readable_items<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    list: D,
) -> Result<Vec<T>, D::Error> {
    let list = Value::deserialize(list)?;
    Ok(list.as_array().into_iter().flatten().flat_map(T::deserialize).collect())
}

#[cfg(test)]
#[path = "lenient_tests.rs"]
mod tests;
