//! Reactions of the bot: to a message that was received, and to one whose answer has ended.

use std::time::Duration;

use avocet_protocol::chat::{ChatAddress, Outcome};
use avocet_protocol::ids::{DedupeKey, TopicId};
use reqwest::Method;
use serde_json::json;
use serenity::model::id::{ChannelId, MessageId};

use crate::fault::RestError;
use crate::routes::Route;
use crate::{Discord, convert};

/// Ended messages that may wait for their reaction. Further ones get none.
const QUEUE: usize = 256;
/// Attempts for a reaction, while the platform asks to wait.
const ATTEMPTS: u32 = 3;
/// Longest wait for a reaction.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Discord's codes for a missing access or right.
const MISSING_RIGHT: [isize; 2] = [50001, 50013];

/// The emojis with which the bot reacts; an empty text means no reaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReactionEmojis {
    pub(crate) received: String,
    pub(crate) done: String,
    pub(crate) failed: String,
}

/// The changes of a message's reactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReactionChange {
    pub(crate) channel: ChannelId,
    pub(crate) message: MessageId,
    /// The emoji to add, if any.
    add: String,
    /// The emoji to remove, if any.
    remove: String,
}

/// The queue of ended messages.
#[derive(Debug)]
pub(crate) struct EndedMessages {
    sender: flume::Sender<ReactionChange>,
    receiver: flume::Receiver<ReactionChange>,
}

impl Default for EndedMessages {
    fn default() -> Self {
        let (sender, receiver) = flume::bounded(QUEUE);
        Self { sender, receiver }
    }
}

impl EndedMessages {
    /// Waits for the next ended message.
    pub(crate) async fn next(&self) -> Option<ReactionChange> {
        self.receiver.recv_async().await.ok()
    }
}

impl ReactionChange {
    /// Returns the change for a received message; `None` without a reaction.
    pub(crate) fn received(
        emojis: &ReactionEmojis,
        channel: ChannelId,
        message: MessageId,
    ) -> Option<Self> {
        let add = emojis.received.clone();
        (!add.is_empty()).then(|| Self { channel, message, add, remove: String::new() })
    }
}

impl Discord {
    /// Notes the outcome of a message, whose reaction follows.
    pub(crate) fn note_end(&self, address: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        let emojis = &self.settings.reactions;
        let add = match outcome {
            Outcome::Replied | Outcome::Merged => &emojis.done,
            Outcome::Error | Outcome::Dropped => &emojis.failed,
            Outcome::Stopped => "",
        };
        let remove = if emojis.received == *add { "" } else { &emojis.received };
        let Some(message) = convert::message_of(key) else { return };
        let topic = address.topic.as_ref().map(TopicId::as_str);
        let is_above = |topic: &str| topic == message.to_string() && !self.is_in_forum(address);
        let chat = topic.filter(|topic| !is_above(topic));
        let chat = chat.unwrap_or(address.chat.as_str());
        let (Ok(channel), false) = (chat.parse(), add.is_empty() && remove.is_empty()) else {
            return;
        };
        let (add, remove) = (add.to_owned(), remove.to_owned());
        let change = ReactionChange { channel, message, add, remove };
        if self.ended.sender.try_send(change).is_err() {
            tracing::debug!(%message, "too many messages have ended; this one gets no reaction");
        }
    }

    /// Changes the reactions of a message.
    pub(crate) async fn react(&self, change: &ReactionChange) {
        let ReactionChange { channel, message, add, remove } = change;
        for (method, emoji) in [(Method::PUT, add), (Method::DELETE, remove)] {
            if emoji.is_empty() {
                continue;
            }
            let route = Route::OwnReaction { channel_id: *channel, message_id: *message, emoji };
            if self.unreactive.contains(*channel) {
                return;
            }
            match self.send_reaction(&method, *channel, route).await {
                Ok(()) => {}
                Err(fault) if MISSING_RIGHT.iter().any(|code| fault.is_refused_with(*code)) => {
                    tracing::info!(%channel, error = %fault, "the bot may not react in this channel; it \
                        no longer tries. It needs the rights Read Message History and Add Reactions, \
                        and a restart");
                    self.unreactive.insert(*channel);
                }
                Err(fault) => tracing::debug!(error = %fault, emoji, "cannot change a reaction"),
            }
        }
    }

    /// Sends a change, and waits afterwards as long as the bucket of its channel is empty. The changes
    /// of a channel come one after the other.
    async fn send_reaction(
        &self,
        method: &Method,
        channel: ChannelId,
        route: Route<'_>,
    ) -> Result<(), RestError> {
        for attempt in 1.. {
            match self.rest.send(method.clone(), route, &json!({})).await {
                Err(RestError::Wait(wait)) if wait <= LONGEST_WAIT && attempt < ATTEMPTS => {
                    self.clock.sleep(wait).await;
                }
                Ok(sent) => {
                    if let Some(wait) = sent.exhausted_for {
                        tracing::debug!(%channel, ?wait, "the bucket of reactions is empty");
                        self.clock.sleep(wait.min(LONGEST_WAIT)).await;
                    }
                    return Ok(());
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}
