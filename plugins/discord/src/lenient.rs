//! Parses messages and interactions leniently: parts that serenity cannot parse are left out.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serenity::model::application::Interaction;
use serenity::model::channel::{Attachment, Message};
use serenity::model::id::{AttachmentId, MessageId, UserId};
use serenity::model::user::User;

/// Replaces an unreadable file, below a readable text.
const UNKNOWN_FILE: &str = "[a file that Discord describes in an unknown way]";

/// Reads a message without its unreadable parts. Returns `None` if its id, author or kind is
/// unreadable.
pub(crate) fn message(data: &Value) -> Option<Message> {
    Message::deserialize(data).ok().or_else(|| partial_message(data))
}

fn partial_message(data: &Value) -> Option<Message> {
    let fields = data.as_object()?;
    let id = MessageId::deserialize(&data["id"]).ok()?;
    let author = author(&data["author"])?;
    let base = json!({
        "id": data["id"], "channel_id": data["channel_id"], "author": author, "content": "",
        "timestamp": id.created_at(), "edited_timestamp": null, "tts": false,
        "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
        "embeds": [], "pinned": false,
        "type": data.get("type").cloned().unwrap_or_default(),
    });
    let mut fields = fields.clone();
    if let Some(files) = fields.get_mut("attachments").and_then(Value::as_array_mut) {
        files.iter_mut().for_each(repair_file);
    }
    let (mut message, unread) = as_far_as_possible::<Message>(base, &fields)?;
    tracing::info!(channel = %message.channel_id, message = %id, ?unread, "cannot read these fields of a message; leaving them out");
    let says_something = !message.content.trim().is_empty() || !message.attachments.is_empty();
    if unread.contains(&"attachments") && says_something {
        message.content.push_str(&format!("\n{UNKNOWN_FILE}"));
    }
    Some(message)
}

/// Leaves out the unreadable fields of a file. The file can be fetched by its id.
fn repair_file(file: &mut Value) {
    if Attachment::deserialize(&*file).is_ok() || AttachmentId::deserialize(&file["id"]).is_err() {
        return;
    }
    let base =
        json!({ "id": file["id"], "filename": "file", "size": 0, "url": "", "proxy_url": "" });
    let fields = file.as_object().cloned().unwrap_or_default();
    let Value::Object(mut whole) = base else { return };
    for (name, value) in fields {
        let before = whole.insert(name.clone(), value);
        if Attachment::deserialize(Value::Object(whole.clone())).is_err() {
            match before {
                Some(before) => drop(whole.insert(name, before)),
                None => drop(whole.remove(&name)),
            }
        }
    }
    *file = Value::Object(whole);
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

#[cfg(test)]
#[path = "lenient_tests.rs"]
mod tests;
