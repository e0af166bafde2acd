//! Topics that refuse messages. Their messages go to the main chat, below a line that says so.

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_protocol::chat::ChatAddress;
use parking_lot::Mutex;
use teloxide::types::{MessageId, ThreadId};

use crate::fault::BotApiError;

/// The cool-down of a topic that refused a message. A closed one may be reopened.
const COOL_DOWN: Duration = Duration::from_mins(1);

/// The reason why a topic refuses messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TopicLoss {
    Deleted,
    Closed,
}

impl TopicLoss {
    /// Bytes, and characters, of the longest line.
    pub(crate) const LONGEST_LINE: usize = Self::Deleted.line().len();

    /// Reads the reason from a refusal; `None` if the refusal has another cause.
    pub(crate) fn from_fault(fault: &BotApiError) -> Option<Self> {
        if fault.contains("message thread not found") || fault.contains("TOPIC_DELETED") {
            return Some(Self::Deleted);
        }
        fault.contains("TOPIC_CLOSED").then_some(Self::Closed)
    }

    /// The line above a message that goes to the main chat instead.
    pub(crate) const fn line(self) -> &'static str {
        match self {
            Self::Deleted => "(This was written in a topic that no longer exists.)",
            Self::Closed => "(This was written in a topic that is closed.)",
        }
    }
}

pub(crate) fn thread_of_chat(chat: &ChatAddress) -> Option<ThreadId> {
    let topic = chat.topic.as_ref()?.as_str().parse().ok()?;
    Some(ThreadId(MessageId(topic)))
}

/// The topics in their cool-down.
#[derive(Debug, Default)]
pub(crate) struct LostTopics(Mutex<BTreeMap<ChatAddress, (TopicLoss, Duration)>>);

impl LostTopics {
    /// The reason if the topic of this chat is in its cool-down.
    pub(crate) fn get(&self, chat: &ChatAddress, now: Duration) -> Option<TopicLoss> {
        let (lost, until) = self.0.lock().get(chat).copied()?;
        (until > now).then_some(lost)
    }

    /// Starts the cool-down of this chat's topic.
    pub(crate) fn add(&self, chat: &ChatAddress, lost: TopicLoss, now: Duration) {
        tracing::info!(%chat, ?lost, "the topic refuses messages; sending to the main chat");
        let mut topics = self.0.lock();
        topics.retain(|_, (_, until)| *until > now);
        topics.insert(chat.clone(), (lost, now + COOL_DOWN));
    }
}
