//! Reads the chat and the topic of a message from its raw JSON.

use avocet_protocol::chat::ChatKind;
use serde_json::{Map, Value};
use teloxide::types::{ChatId, MessageId, ThreadId};

use crate::numbers::read_integer;

/// The fields of a message.
pub(crate) type Fields = Map<String, Value>;

/// The id and the kind of a message's chat.
pub(crate) fn read_chat(message: &Fields) -> Option<(ChatId, ChatKind)> {
    let chat = message.get("chat")?;
    let kind = match chat["type"].as_str()? {
        "private" => ChatKind::Private,
        "group" | "supergroup" => ChatKind::Group,
        _ => return None,
    };
    Some((ChatId(read_integer(&chat["id"])?), kind))
}

/// The chat of a message and its topic.
pub(crate) fn read_place(message: &Fields) -> Option<(ChatId, Option<ThreadId>)> {
    read_chat(message).map(|(chat, _)| (chat, read_topic(message)))
}

pub(crate) fn read_topic(message: &Fields) -> Option<ThreadId> {
    message.get("is_topic_message").filter(|is_topic| **is_topic == Value::Bool(true))?;
    let topic = read_integer(message.get("message_thread_id")?)?;
    Some(ThreadId(MessageId(topic.try_into().ok()?)))
}
