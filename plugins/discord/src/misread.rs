//! What the client cannot read, read from its JSON as far as that goes: what was said is heard, and
//! nobody who pressed something waits for an answer.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serenity::builder::{
    CreateAllowedMentions, CreateInteractionResponse, CreateInteractionResponseMessage,
};
use serenity::model::application::Interaction;
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, InteractionId, MessageId, UserId};
use serenity::model::user::User;

use crate::receive::{Receiver, Stopped};

/// What stands for a file that cannot be made out, below a text that can.
const UNKNOWN_FILE: &str = "[a file that Discord describes in a way I do not know]";
/// What is said to whoever pressed something that cannot be read; nobody else sees it.
const NOT_UNDERSTOOD: &str = "I could not read this. Write it as a message, please.";

/// A message, without what the client cannot read of it. None if it cannot be seen which message it is,
/// from whom, or of what kind.
pub(crate) fn message(data: &Value) -> Option<Message> {
    Message::deserialize(data).ok().or_else(|| misread(data))
}

fn misread(data: &Value) -> Option<Message> {
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
    let (mut message, unread) = as_far_as_possible::<Message>(base, fields)?;
    tracing::info!(channel = %message.channel_id, message = %id, ?unread, "a message that cannot be read whole");
    let says_something = !message.content.trim().is_empty() || !message.attachments.is_empty();
    if unread.contains(&"attachments") && says_something {
        message.content.push_str(&format!("\n{UNKNOWN_FILE}"));
    }
    Some(message)
}

/// Somebody, of whom the id is enough.
fn author(data: &Value) -> Option<User> {
    UserId::deserialize(&data["id"]).ok()?;
    let base = json!({ "id": data["id"], "username": data["id"] });
    as_far_as_possible(base, data.as_object()?).map(|(author, _)| author)
}

/// `base` with every field that can be read beside the others, of lists every part; and the names of
/// what is left out.
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

/// What was pressed or called; the message below which that was need not be readable.
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

impl Receiver<'_> {
    /// A message that cannot be read is passed over, if it can be seen which one it is.
    pub(crate) async fn unreadable(&mut self, data: &Value) -> Result<(), Stopped> {
        let channel = ChannelId::deserialize(&data["channel_id"]).ok();
        let message = MessageId::deserialize(&data["id"]).ok();
        tracing::info!(?channel, ?message, "a message that cannot be read");
        let place = channel.zip(message);
        let cursor = place.and_then(|(channel, message)| self.read.cursor(channel, message));
        self.ignore("unreadable", cursor).await?;
        if let Some((channel, message)) = place {
            self.read.has_read(channel, message);
        }
        Ok(())
    }

    /// What was pressed or called cannot be read: whoever did it is told, as far as it can be seen how.
    pub(crate) async fn misunderstood(&self, data: &Value) -> Result<(), Stopped> {
        let id = InteractionId::deserialize(&data["id"]).ok();
        tracing::info!(?id, "what was pressed or called cannot be read");
        self.ignore("unreadable", None).await?;
        if let (Some(id), Some(token)) = (id, data["token"].as_str()) {
            let line = CreateInteractionResponseMessage::new()
                .content(NOT_UNDERSTOOD)
                .ephemeral(true)
                .allowed_mentions(CreateAllowedMentions::new());
            let answer = CreateInteractionResponse::Message(line);
            self.discord.answer(self.context.clock.as_ref(), id, token, &answer).await;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "misread_tests.rs"]
mod tests;
