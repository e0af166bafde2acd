//! The updates of a poll, each read on its own: one that cannot be read is no trouble of those
//! beside it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use teloxide::requests::Payload;
use teloxide::types::{AllowedUpdate, CallbackQueryId, Message, MessageKind, UpdateKind};

/// `getUpdates` of the Bot API, whose answer is left as it came: the client's own reads all updates
/// at once, says nothing of what it could not read, and panics at some.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<i64>,
    /// Seconds that the poll may stay open.
    pub(crate) timeout: u32,
    pub(crate) allowed_updates: [AllowedUpdate; 3],
}

impl Payload for GetUpdates {
    type Output = Vec<Value>;
    const NAME: &'static str = "GetUpdates";
}

/// An update.
#[derive(Debug, Clone)]
pub(crate) struct Update {
    /// From 0.
    pub(crate) id: i64,
    /// [`UpdateKind::Error`] if it cannot be read, or is of a kind that nobody asked for.
    pub(crate) kind: UpdateKind,
}

/// What a poll brings.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) updates: Vec<Update>,
    /// Updates without an id: nobody can tell the platform that they were seen.
    pub(crate) nameless: usize,
}

impl Batch {
    pub(crate) fn read(raw: Vec<Value>) -> Self {
        let count = raw.len();
        let updates: Vec<Update> = raw.into_iter().filter_map(Update::read).collect();
        Self { nameless: count - updates.len(), updates }
    }

    /// Everything that came.
    pub(crate) fn len(&self) -> usize {
        self.updates.len() + self.nameless
    }
}

impl Update {
    /// None if there is no id.
    pub(crate) fn read(raw: Value) -> Option<Self> {
        let id = raw.get("update_id")?.as_i64().filter(|id| (0..i64::MAX).contains(id))?;
        Some(Self { id, kind: kind(&raw).unwrap_or(UpdateKind::Error(raw)) })
    }

    /// The pressed button that glows until it is answered, also where nothing else can be read.
    pub(crate) fn query(&self) -> Option<CallbackQueryId> {
        match &self.kind {
            UpdateKind::CallbackQuery(query) => Some(query.id.clone()),
            UpdateKind::Error(raw) => {
                let id = raw.get("callback_query")?.get("id")?.as_str()?;
                Some(CallbackQueryId(id.to_owned()))
            }
            _ => None,
        }
    }
}

fn kind(raw: &Value) -> Option<UpdateKind> {
    if let Some(message) = raw.get("message") {
        return self::message(message).map(UpdateKind::Message);
    }
    if let Some(message) = raw.get("edited_message") {
        return self::message(message).map(UpdateKind::EditedMessage);
    }
    read(raw.get("callback_query")?).map(UpdateKind::CallbackQuery)
}

/// Reads a message. What the client cannot make out in one is an empty message to it.
pub(crate) fn message(raw: &Value) -> Option<Message> {
    read(raw).filter(|message: &Message| !matches!(message.kind, MessageKind::Empty {}))
}

/// Reads what the client has a type for. Some of its types panic at what they do not expect.
pub(crate) fn read<T: DeserializeOwned>(raw: &Value) -> Option<T> {
    // From text: some of its types cannot be read from a value.
    let text = raw.to_string();
    catch_unwind(AssertUnwindSafe(|| serde_json::from_str(&text).ok())).ok().flatten()
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
