//! Parts of messages that an earlier version has kept in cursors of the log: it waited for the next
//! part after Telegram had forgotten the update. They are committed at the start.

use std::collections::BTreeSet;

use avocet_protocol::chat::Cursor;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::types::UpdateKind;

use crate::update::Update;

/// Prefix of the scope of the cursors that keep parts. A number follows.
const SCOPE: &str = "parts ";

/// The ids of messages that are in the log as parts of others, each with its chat.
#[derive(Debug, Default)]
pub(crate) struct KeptParts(Mutex<BTreeSet<(i64, i32)>>);

/// The text of a cursor.
#[derive(Debug, Serialize, Deserialize)]
struct PartsPosition {
    chat: i64,
    #[serde(default, skip_serializing)]
    waiting: Vec<Value>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    joined: BTreeSet<i32>,
}

/// The parts of a message that are not in the log yet.
#[derive(Debug)]
pub(crate) struct WaitingParts {
    pub(crate) waiting: Vec<Update>,
    /// The cursor without them.
    pub(crate) rest: Cursor,
}

impl KeptParts {
    /// Reads a cursor of an earlier run. Returns the parts that wait, if there are any.
    pub(crate) fn read_cursor(&self, cursor: &Cursor) -> Option<WaitingParts> {
        cursor.scope.strip_prefix(SCOPE).filter(|_| !cursor.position.is_empty())?;
        let scope = cursor.scope.clone();
        let Ok(position) = serde_json::from_str::<PartsPosition>(&cursor.position) else {
            tracing::warn!(scope, "cannot read the kept parts of a message; ignoring them");
            let rest = Cursor { scope, position: String::new() };
            return Some(WaitingParts { waiting: Vec::new(), rest });
        };
        let mut joined = self.0.lock();
        joined.extend(position.joined.iter().map(|id| (position.chat, *id)));
        if position.waiting.is_empty() {
            return None;
        }
        let rest = serde_json::to_string(&position).unwrap_or_default();
        let rest = Cursor { scope, position: rest };
        Some(WaitingParts {
            waiting: position.waiting.into_iter().filter_map(Update::read).collect(),
            rest,
        })
    }

    /// Returns `true` if a message is in the log as a part of another message.
    pub(crate) fn has_joined(&self, update: &Update) -> bool {
        let UpdateKind::Message(message) = &update.kind else { return false };
        let joined = self.0.lock();
        joined.contains(&(message.chat.id.0, message.id.0))
    }
}
