//! The updates of a poll, each parsed on its own, so that an unreadable one leaves the others
//! unaffected.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use teloxide::requests::Payload;
use teloxide::types::{CallbackQueryId, Me, Message, MessageKind, UpdateKind};

use crate::checklists::ChecklistChange;
use crate::direct_topics::DirectTopic;
use crate::numbers::read_integer;
use crate::raw_chat::Fields;

/// `getUpdates` of the Bot API with its raw answer. That of teloxide parses all updates at once,
/// hides those that it fails to parse, and panics on some.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<i64>,
    /// The most updates in the answer; `None` for the platform's maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u8>,
    /// Seconds that the poll may stay open.
    pub(crate) timeout: u32,
    pub(crate) allowed_updates: &'static [&'static str],
}

/// The kinds of updates that the bot receives. teloxide does not know all of them.
pub(crate) const ALLOWED_UPDATES: &[&str] =
    &["message", "edited_message", "callback_query", "message_reaction", MEMBERSHIP, STOPPED_DRAFT];

/// The kind of update that reports that the bot was added to a chat or removed from it.
pub(crate) const MEMBERSHIP: &str = "my_chat_member";

/// The kind of update that reports a press of the button below a draft (Bot API 10.3).
pub(crate) const STOPPED_DRAFT: &str = "stopped_message_generation";

impl Payload for GetUpdates {
    type Output = Vec<Value>;
    const NAME: &'static str = "GetUpdates";
}

/// The answer to a poll.
#[derive(Debug, PartialEq)]
pub(crate) enum PolledUpdates {
    Decoded(Vec<Value>),
    /// A list of which the JSON cannot be decoded, and the id of its first update, if that can be
    /// found.
    Undecodable {
        first: Option<i64>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Update {
    /// At least 0.
    pub(crate) id: i64,
    /// [`UpdateKind::Error`] if it is unreadable or of an unexpected kind.
    pub(crate) kind: UpdateKind,
    /// As the platform sent it. teloxide does not know every field.
    pub(crate) raw: Arc<Value>,
    /// The topic of its message in the direct messages of a channel.
    pub(crate) direct_topic: Option<DirectTopic>,
    /// `true` for a pressed button of which the topic is unknown.
    pub(crate) has_lost_topic: bool,
    /// The change of a checklist that it reports.
    pub(crate) checklist_change: Option<ChecklistChange>,
}

/// The answer to a pressed button.
#[derive(Debug)]
pub(crate) struct PressAnswer {
    pub(crate) query: CallbackQueryId,
    /// The text for the person; `None` if the press is accepted.
    pub(crate) text: Option<&'static str>,
}

/// The answer to a pressed button of which the topic is unknown. At most 200 characters (Bot API,
/// answerCallbackQuery).
const TOO_OLD: &str = "This button is too old. Please write a message instead.";

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) updates: Vec<Update>,
    /// Updates without an id, which cannot be confirmed.
    pub(crate) without_id: usize,
}

impl Batch {
    pub(crate) fn read(raw: Vec<Value>) -> Self {
        let count = raw.len();
        let updates: Vec<Update> = raw.into_iter().filter_map(Update::read).collect();
        Self { without_id: count - updates.len(), updates }
    }

    /// The number of all updates.
    pub(crate) fn len(&self) -> usize {
        self.updates.len() + self.without_id
    }
}

impl Update {
    /// `None` if the id is missing.
    pub(crate) fn read(raw: Value) -> Option<Self> {
        let id = read_integer(raw.get("update_id")?).filter(|id| (0..i64::MAX).contains(id))?;
        let direct_topic = DirectTopic::of_update(&raw);
        let has_lost_topic = DirectTopic::is_lost(&raw);
        let checklist_change = ChecklistChange::read(&raw);
        let kind = kind(&raw).unwrap_or_else(|| UpdateKind::Error(raw.clone()));
        let raw = Arc::new(raw);
        Some(Self { id, kind, raw, direct_topic, has_lost_topic, checklist_change })
    }

    /// An update of which only the id is known.
    pub(crate) fn undecodable(id: i64) -> Self {
        let raw = raw_undecodable(id);
        let (kind, raw) = (UpdateKind::Error(raw.clone()), Arc::new(raw));
        Self { id, kind, raw, direct_topic: None, has_lost_topic: false, checklist_change: None }
    }

    /// The fields of a new or edited message, as the platform sent them.
    pub(crate) fn fields(&self) -> Option<&Fields> {
        let message = self.raw.get("message").or_else(|| self.raw.get("edited_message"));
        message?.as_object()
    }

    /// Returns the answer to a pressed button, even if the rest of the update is unreadable: a
    /// button shows a loading indicator until it is answered.
    pub(crate) fn press_answer(&self) -> Option<PressAnswer> {
        let query = match &self.kind {
            UpdateKind::CallbackQuery(query) => Some(query.id.clone()),
            UpdateKind::Error(raw) => {
                let id = raw.get("callback_query")?.get("id")?.as_str()?;
                Some(CallbackQueryId(id.to_owned()))
            }
            _ => None,
        };
        let text = self.has_lost_topic.then_some(TOO_OLD);
        query.map(|query| PressAnswer { query, text })
    }
}

/// The JSON of an update of which only the id is known.
pub(crate) fn raw_undecodable(id: i64) -> Value {
    json!({ "update_id": id })
}

/// Returns `true` for an update of which only the id is known.
pub(crate) fn is_undecodable(raw: &Value) -> bool {
    raw.as_object().is_some_and(|fields| fields.len() == 1 && fields.contains_key("update_id"))
}

/// Finds the id of the first update in bytes that are no JSON. Quotation marks within a text are
/// escaped, so the words are a field.
pub(crate) fn find_update_id(body: &[u8]) -> Option<i64> {
    const KEY: &[u8] = b"\"update_id\"";
    let place = body.windows(KEY.len()).position(|part| part == KEY)?;
    let rest = body[place + KEY.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok().filter(|id| *id < i64::MAX)
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

/// Parses the bot's account. Its id and its username are enough.
pub(crate) fn read_me(raw: &Value) -> Option<Me> {
    read(raw).filter(|me: &Me| me.user.username.is_some()).or_else(|| {
        let id = read_integer(&raw["id"])?;
        let (name, username) = (raw["first_name"].as_str(), raw["username"].as_str()?);
        read(&json!({
            "id": id, "is_bot": true, "first_name": name.unwrap_or(username), "username": username,
            "can_join_groups": true, "can_read_all_group_messages": false,
            "supports_inline_queries": false, "has_main_web_app": false,
        }))
    })
}

/// Parses a message. teloxide parses a message of an unknown kind as an empty one; that counts as a
/// failure.
pub(crate) fn message(raw: &Value) -> Option<Message> {
    read(raw).filter(|message: &Message| !matches!(message.kind, MessageKind::Empty {}))
}

/// Parses a type of teloxide. Some of its types panic on unexpected input.
pub(crate) fn read<T: DeserializeOwned>(raw: &Value) -> Option<T> {
    // Parsed from text, because some of its types do not parse from a `Value`.
    let text = raw.to_string();
    catch_unwind(AssertUnwindSafe(|| serde_json::from_str(&text).ok())).ok().flatten()
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
