//! The last typed text of each author of a chat that came through a webhook. It may be a comment on
//! forwarded messages: the author's client sends the comment first. To wait for them would delay
//! every text, so they become a correction of the comment. Only memory holds the comment. After a
//! restart, and if the comment was answered, the forwarded messages become a separate message.

use avocet_channel_kit::Converted;
use avocet_protocol::LruMap;
use avocet_protocol::ids::DedupeKey;
use parking_lot::Mutex;
use teloxide::types::{Message, UpdateKind};

use crate::bot::BotIdentity;
use crate::chat_author::ChatAuthor;
use crate::convert::convert;
use crate::forwards;
use crate::message::corrected_at;
use crate::typed_text;
use crate::update::Update;

/// Authors whose last text is kept.
const MAX_AUTHORS: usize = 100;

/// The last typed text of each author of a chat.
#[derive(Debug, Default)]
pub(crate) struct LastTexts(Mutex<LruMap<Option<ChatAuthor>, Update, MAX_AUTHORS>>);

impl LastTexts {
    /// Notes an update that is in the log.
    pub(crate) fn note(&self, update: &Update) {
        if message(update).is_none() {
            return;
        }
        let (mut texts, author) = (self.0.lock(), ChatAuthor::of(update));
        if typed_text::is_typed(update) {
            texts.put(author, update.clone());
        } else {
            texts.pop(&author);
        }
    }

    /// Returns the comment on a forwarded message.
    pub(crate) fn comment_on(&self, forward: &Update) -> Option<Update> {
        let texts = self.0.lock();
        let mut texts = texts.iter().map(|(_, text)| text);
        texts.find(|text| forwards::follows(text, forward)).cloned()
    }
}

/// Converts a comment and its forwarded messages to a correction of the comment. Returns `None` if
/// they are no message for the agent.
pub(crate) fn correction(bot: &BotIdentity<'_>, together: &[Update]) -> Option<Converted> {
    let sent_at = together.iter().filter_map(message).next_back()?.date.timestamp();
    let Ok(Converted::Inbound(mut inbound)) = corrected_at(convert(bot, together), sent_at) else {
        return None;
    };
    // The comment may be edited in the same second.
    inbound.key = DedupeKey::parse(&format!("{}.forwards", inbound.key)).ok()?;
    Some(Converted::Inbound(inbound))
}

fn message(update: &Update) -> Option<&Message> {
    match &update.kind {
        UpdateKind::Message(message) => Some(message),
        _ => None,
    }
}
