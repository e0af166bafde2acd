//! Topics that take no messages any more. What belongs there is sent to the chat itself, below a line
//! that says so.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avocet_protocol::ChatAddress;
use teloxide::types::{MessageId, ThreadId};

use crate::Telegram;
use crate::fault::Fault;

/// How long a topic is left alone that took no message. A closed one may be opened again.
const LEFT_ALONE: Duration = Duration::from_mins(1);

/// Why a topic takes no messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    Deleted,
    Closed,
}

impl Lost {
    /// Bytes and characters of the longest line.
    pub(crate) const LONGEST_LINE: usize = Self::Deleted.line().len();

    /// What a refusal says of the topic; `None` if it is about something else.
    pub(crate) fn of(fault: &Fault) -> Option<Self> {
        if fault.says("message thread not found") || fault.says("TOPIC_DELETED") {
            return Some(Self::Deleted);
        }
        fault.says("TOPIC_CLOSED").then_some(Self::Closed)
    }

    /// What stands above a message that is sent to the chat instead.
    pub(crate) const fn line(self) -> &'static str {
        match self {
            Self::Deleted => "(This was written in a topic that no longer exists.)",
            Self::Closed => "(This was written in a topic that is closed.)",
        }
    }
}

/// The topic of a chat.
pub(crate) fn of(chat: &ChatAddress) -> Option<ThreadId> {
    let topic = chat.topic.as_ref()?.as_str().parse().ok()?;
    Some(ThreadId(MessageId(topic)))
}

/// The topics that took no message a short while ago.
#[derive(Debug, Default)]
pub(crate) struct LostTopics(Mutex<BTreeMap<ChatAddress, (Lost, Duration)>>);

impl Telegram {
    /// Whether the topic of this chat took no message a short while ago.
    pub(crate) fn lost_topic(&self, chat: &ChatAddress) -> Option<Lost> {
        let topics = self.lost_topics.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (lost, until) = topics.get(chat).copied()?;
        (until > self.clock.elapsed()).then_some(lost)
    }

    /// Notes that the topic of this chat took no message.
    pub(crate) fn lose_topic(&self, chat: &ChatAddress, lost: Lost) {
        tracing::info!(%chat, ?lost, "the topic takes no messages; sending to the chat itself");
        let now = self.clock.elapsed();
        let mut topics = self.lost_topics.0.lock().unwrap_or_else(PoisonError::into_inner);
        topics.retain(|_, (_, until)| *until > now);
        topics.insert(chat.clone(), (lost, now + LEFT_ALONE));
    }
}
