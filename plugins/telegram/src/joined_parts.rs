//! The parts of the last messages that several updates formed. The edit of a part becomes a
//! correction of the whole message. Memory holds them: after a restart, an edit of the first part
//! replaces the message, and edits of the others are ignored.

use std::collections::VecDeque;

use avocet_channel_kit::Converted;
use avocet_protocol::ids::DedupeKey;
use parking_lot::Mutex;
use teloxide::types::{Message, UpdateKind};

use crate::bot::BotIdentity;
use crate::convert::convert;
use crate::message::corrected_at;
use crate::update::Update;

/// Messages whose parts are kept.
const MAX_MESSAGES: usize = 20;

/// The parts of the last messages, the oldest message first.
#[derive(Debug, Default)]
pub(crate) struct JoinedParts(Mutex<VecDeque<Vec<Update>>>);

/// A message with an edited part.
#[derive(Debug)]
pub(crate) struct EditedMessage {
    parts: Vec<Update>,
    /// The index of the edited part.
    place: usize,
    /// The time of the edit, in seconds.
    edited_at: i64,
}

impl JoinedParts {
    /// Notes a message in the log. Albums are left out, because their edits are ignored.
    pub(crate) fn note(&self, updates: &[Update]) {
        let is_album = |update| message(update).is_none_or(|one| one.media_group_id().is_some());
        if updates.len() < 2 || updates.iter().any(is_album) {
            return;
        }
        let mut messages = self.0.lock();
        messages.push_back(updates.to_vec());
        if messages.len() > MAX_MESSAGES {
            messages.pop_front();
        }
    }

    /// Replaces the part that an update edits. Returns `None` if the update edits no kept part.
    pub(crate) fn edit(&self, update: &Update) -> Option<EditedMessage> {
        let UpdateKind::EditedMessage(edited) = &update.kind else { return None };
        let edited_at = edited.edit_date()?.timestamp();
        let is_same = |part: &Update| {
            message(part).is_some_and(|one| (one.chat.id, one.id) == (edited.chat.id, edited.id))
        };
        for parts in self.0.lock().iter_mut().rev() {
            if let Some(place) = parts.iter().position(is_same) {
                parts[place].kind = UpdateKind::Message(edited.clone());
                parts[place].raw = update.raw.clone();
                return Some(EditedMessage { parts: parts.clone(), place, edited_at });
            }
        }
        None
    }
}

impl EditedMessage {
    /// Converts the message to a correction with all its parts.
    pub(crate) fn convert(&self, bot: &BotIdentity<'_>) -> Converted {
        let corrected = corrected_at(convert(bot, &self.parts), self.edited_at);
        match corrected.unwrap_or_else(Converted::from) {
            Converted::Inbound(mut inbound) => {
                // Two parts may be edited in the same second.
                let key = format!("{}.{}", inbound.key, self.place);
                inbound.key = DedupeKey::parse(&key).unwrap_or(inbound.key);
                Converted::Inbound(inbound)
            }
            other => other,
        }
    }
}

fn message(update: &Update) -> Option<&Message> {
    match &update.kind {
        UpdateKind::Message(message) => Some(message),
        _ => None,
    }
}
