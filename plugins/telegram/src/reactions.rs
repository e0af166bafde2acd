//! Reactions of the bot: to a message that was received, and to one whose answer has ended. A bot has
//! at most one reaction to a message (Bot API, `setMessageReaction`).

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{ChatAddress, ChatId, Clock, DedupeKey, Outcome};
use serde::de::IgnoredAny;
use teloxide::payloads::{SetMessageReaction, SetMessageReactionSetters};
use teloxide::types::ReactionType;
use tokio::sync::Notify;

use crate::Telegram;
use crate::api::ANSWER_LIMIT;
use crate::config::TelegramConfig;
use crate::fault::BotApiError;
use crate::moved::MessageNumber;

/// Changes that may wait. Further ones are dropped.
const MAX_QUEUE: usize = 256;
/// Ended messages that are remembered.
const MAX_ENDED: usize = 1000;
/// Chats without reactions that are remembered.
const MAX_CLOSED: usize = 10_000;
/// Attempts for a reaction, while the platform asks to wait.
const ATTEMPTS: u32 = 3;
/// Longest wait for a reaction.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The emojis with which a bot can react (Bot API, `ReactionTypeEmoji`).
#[rustfmt::skip]
pub(crate) const EMOJIS: [&str; 73] = [
    "👍", "👎", "❤", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏",
    "👌", "🕊", "🤡", "🥱", "🥴", "😍", "🐳", "❤\u{200d}🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔",
    "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨\u{200d}💻", "👀", "🎃", "🙈", "😇",
    "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘", "💊",
    "🙊", "😎", "👾", "🤷\u{200d}♂", "🤷", "🤷\u{200d}♀", "😡",
];

/// Parts of a refusal by a chat that forbids reactions, or this one.
const FORBIDDEN: [&str; 2] = ["REACTION_INVALID", "REACTIONS_DISABLED"];

/// Returns `true` for an emoji with which a bot can react, and for the empty text.
pub(crate) fn is_reaction(emoji: &str) -> bool {
    emoji.is_empty() || EMOJIS.contains(&plain(emoji).as_str())
}

/// Returns an emoji without the mark with which keyboards ask for a picture of it.
fn plain(emoji: &str) -> String {
    emoji.replace('\u{fe0f}', "")
}

/// The reactions of a bot.
#[derive(Debug)]
pub(crate) struct BotReactions {
    received: String,
    done: String,
    failed: String,
    queue: Mutex<ReactionQueue>,
    added: Notify,
}

#[derive(Debug, Default)]
struct ReactionQueue {
    changes: VecDeque<ReactionChange>,
    /// The last messages whose answer has ended. A fast answer can end before its message is noted as
    /// received.
    ended: VecDeque<(ChatId, MessageNumber)>,
    /// Chats that forbid reactions.
    closed: BTreeSet<ChatId>,
}

/// The next reaction of the bot to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReactionChange {
    chat: ChatAddress,
    message: MessageNumber,
    /// Empty to remove the reaction.
    emoji: String,
}

impl ReactionChange {
    fn is_about(&self, chat: &ChatId, message: MessageNumber) -> bool {
        self.chat.chat == *chat && self.message == message
    }
}

impl BotReactions {
    pub(crate) fn new(config: &TelegramConfig) -> Self {
        Self {
            received: plain(&config.reaction_received),
            done: plain(&config.reaction_done),
            failed: plain(&config.reaction_failed),
            queue: Mutex::default(),
            added: Notify::new(),
        }
    }

    /// Notes a message that is in the log.
    pub(crate) fn note_received(&self, chat: &ChatAddress, key: &DedupeKey) {
        let Some(message) = MessageNumber::of_received(key) else { return };
        let mut queue = self.queue();
        if self.received.is_empty() || queue.ended.contains(&(chat.chat.clone(), message)) {
            return;
        }
        let (chat, emoji) = (chat.clone(), self.received.clone());
        queue.add(ReactionChange { chat, message, emoji });
        self.added.notify_one();
    }

    /// Notes the outcome of a message.
    pub(crate) fn note_end(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        let Some(message) = MessageNumber::of_received(key) else { return };
        let emoji = match outcome {
            Outcome::Replied | Outcome::Merged => self.done.clone(),
            Outcome::Error | Outcome::Dropped => self.failed.clone(),
            Outcome::Stopped => String::new(),
        };
        let mut queue = self.queue();
        queue.ended.push_back((chat.chat.clone(), message));
        if queue.ended.len() > MAX_ENDED {
            queue.ended.pop_front();
        }
        let waiting = queue.changes.len();
        queue.changes.retain(|change| !change.is_about(&chat.chat, message));
        let was_shown = queue.changes.len() == waiting && !self.received.is_empty();
        // An equal reaction stays.
        if (!emoji.is_empty() || was_shown) && !(was_shown && emoji == self.received) {
            queue.add(ReactionChange { chat: chat.clone(), message, emoji });
            self.added.notify_one();
        }
    }

    /// Waits for the next change.
    async fn next(&self) -> ReactionChange {
        loop {
            if let Some(change) = self.queue().changes.pop_front() {
                return change;
            }
            self.added.notified().await;
        }
    }

    fn close(&self, chat: &ChatId) {
        let closed = &mut self.queue().closed;
        if closed.len() >= MAX_CLOSED {
            closed.clear();
        }
        closed.insert(chat.clone());
    }

    fn queue(&self) -> MutexGuard<'_, ReactionQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReactionQueue {
    fn add(&mut self, change: ReactionChange) {
        if self.closed.contains(&change.chat.chat) {
            return;
        }
        if self.changes.len() >= MAX_QUEUE {
            tracing::debug!(chat = %change.chat, "too many reactions wait; dropping one");
            return;
        }
        self.changes.push_back(change);
    }
}

impl Telegram {
    /// Makes the changes one after the other, so that no removal overtakes its reaction.
    pub(crate) async fn keep_reacting(&self) -> Infallible {
        loop {
            let change = self.reactions.next().await;
            let chat = &change.chat.chat;
            // A received message is answered soon, so its reaction can be left out.
            if change.emoji == self.reactions.received && !self.pace.spare_request(chat) {
                continue;
            }
            match self.react(&change).await {
                Err(fault) if FORBIDDEN.iter().any(|text| fault.contains(text)) => {
                    tracing::debug!(chat = %change.chat, error = %fault, "the chat forbids \
                        reactions; leaving them out");
                    self.reactions.close(chat);
                    // An earlier reaction of the bot must not stay.
                    if !change.emoji.is_empty() {
                        let removal = ReactionChange { emoji: String::new(), ..change };
                        self.react(&removal).await.unwrap_or_default();
                    }
                }
                Err(fault) => {
                    tracing::debug!(chat = %change.chat, error = %fault, "cannot react to a message");
                }
                Ok(()) => {}
            }
        }
    }

    async fn react(&self, change: &ReactionChange) -> Result<(), BotApiError> {
        let ReactionChange { chat, message, emoji } = change;
        let Ok(place) = self.place(chat) else { return Ok(()) };
        let Some(message) = place.message(*message) else { return Ok(()) };
        let emojis = Some(emoji).filter(|emoji| !emoji.is_empty()).into_iter();
        let reaction = emojis.map(|emoji| ReactionType::Emoji { emoji: emoji.clone() });
        let request = SetMessageReaction::new(place.chat, message).reaction(reaction);
        let clock: &dyn Clock = self.clock.as_ref();
        let mut attempts = 1;
        loop {
            let set = self.api.call_within::<IgnoredAny, _>(clock, ANSWER_LIMIT, request.clone());
            match set.await {
                Err(BotApiError::Wait(wait)) if attempts < ATTEMPTS && wait <= LONGEST_WAIT => {
                    attempts += 1;
                    clock.sleep(wait).await;
                }
                set => return set.map(|_| ()),
            }
        }
    }
}
