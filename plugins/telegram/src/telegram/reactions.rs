//! Reactions of the bot: to a message that was received, and to one whose answer has ended. A bot
//! has at most one reaction to a message (Bot API, `setMessageReaction`). Only memory holds the
//! changes: an orderly stop makes those that wait, but a crash leaves the reaction to a receipt.

use std::convert::Infallible;
use std::time::Duration;

use avocet_protocol::chat::{ChatAddress, Outcome};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::DedupeKey;
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use teloxide::payloads::{SetMessageReaction, SetMessageReactionSetters};
use teloxide::types::ReactionType;
use tokio::sync::Notify;

use crate::Telegram;
use crate::api::ANSWER_LIMIT;
use crate::config::TelegramConfig;
use crate::fault::BotApiError;
use crate::moved::MessageNumber;
use crate::reaction_queue::{NextReaction, ReactionChange, ReactionQueue};

/// The time before the reaction to a receipt. A faster answer needs no reaction.
const RECEIPT_DELAY: Duration = Duration::from_secs(1);
/// Attempts for a reaction to a receipt, which the end of the answer replaces soon.
const RECEIPT_ATTEMPTS: u32 = 3;
/// Longest wait for a reaction to a receipt.
const RECEIPT_WAIT: Duration = Duration::from_secs(30);
/// Attempts for any other reaction. A reaction to a receipt must not stay.
const ATTEMPTS: u32 = 10;
/// Longest wait for any other reaction.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// The wait after the first attempt that failed without a wait of the platform. It doubles each
/// time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The time for the changes that wait when the account stops. The account has 10 s for its stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The emojis with which a bot can react (Bot API, `ReactionTypeEmoji`).
#[rustfmt::skip]
pub(crate) const EMOJIS: [&str; 73] = [
    "👍", "👎", "❤", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏",
    "👌", "🕊", "🤡", "🥱", "🥴", "😍", "🐳", "❤\u{200d}🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔",
    "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨\u{200d}💻", "👀", "🎃", "🙈", "😇",
    "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘", "💊",
    "🙊", "😎", "👾", "🤷\u{200d}♂", "🤷", "🤷\u{200d}♀", "😡",
];

/// Part of a refusal by a chat that does not allow this reaction.
const REFUSED: &str = "REACTION_INVALID";
/// Part of a refusal by a chat that forbids all reactions.
const FORBIDDEN: &str = "REACTIONS_DISABLED";

/// Returns `true` for an emoji with which a bot can react, and for the empty text.
pub(crate) fn is_reaction(emoji: &str) -> bool {
    emoji.is_empty() || EMOJIS.contains(&plain(emoji).as_str())
}

/// Returns an emoji without the variation selector that keyboards append to it.
fn plain(emoji: &str) -> String {
    emoji.replace('\u{fe0f}', "")
}

#[derive(Debug)]
pub(crate) struct BotReactions {
    received: String,
    done: String,
    failed: String,
    queue: Mutex<ReactionQueue>,
    added: Notify,
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
    pub(crate) fn note_received(&self, chat: &ChatAddress, key: &DedupeKey, now: Duration) {
        let Some(message) = MessageNumber::of_received(key) else { return };
        if !self.received.is_empty() {
            self.queue.lock().add_receipt(chat, message, &self.received, now + RECEIPT_DELAY);
            self.added.notify_one();
        }
    }

    /// Notes the outcome of a message.
    pub(crate) fn note_end(&self, chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        let Some(message) = MessageNumber::of_received(key) else { return };
        let emoji = match outcome {
            Outcome::Replied | Outcome::Merged => &self.done,
            Outcome::Error | Outcome::Dropped => &self.failed,
            Outcome::Stopped => "",
        };
        self.queue.lock().add_end(chat, message, emoji, &self.received);
        self.added.notify_one();
    }

    /// Waits for the next change that is due.
    async fn next(&self, clock: &dyn Clock) -> ReactionChange {
        loop {
            let next = self.queue.lock().next(clock.elapsed());
            match next {
                NextReaction::Now(change) => return change,
                NextReaction::After(wait) => tokio::select! {
                    () = clock.sleep(wait) => {}
                    () = self.added.notified() => {}
                },
                NextReaction::Empty => self.added.notified().await,
            }
        }
    }

    /// Keeps a change whose attempt has failed, if another attempt is worth it.
    fn retry(&self, change: ReactionChange, fault: &BotApiError, now: Duration) {
        let attempts = change.attempts + 1;
        let (most, longest) = if change.is_receipt {
            (RECEIPT_ATTEMPTS, RECEIPT_WAIT)
        } else {
            (ATTEMPTS, LONGEST_WAIT)
        };
        let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(change.attempts));
        let (wait, is_unknown) = match fault {
            BotApiError::Wait(wait) => (*wait, false),
            BotApiError::NotSent(_) => (doubled, false),
            BotApiError::Broken(_) => (doubled, true),
            BotApiError::Refused(refusal) if refusal.code >= 500 => (doubled, true),
            BotApiError::Moved(_) | BotApiError::Refused(_) => (Duration::MAX, false),
        };
        let mut queue = self.queue.lock();
        if let BotApiError::Wait(wait) = fault {
            queue.hold(&change.chat.chat, now, *wait.min(&LONGEST_WAIT));
        }
        let may_show = change.may_show || is_unknown;
        if attempts >= most || wait > longest {
            tracing::debug!(chat = %change.chat, error = %fault, "cannot react to a message");
            queue.leave_out(&ReactionChange { may_show, ..change });
            return;
        }
        queue.add_again(ReactionChange { attempts, not_before: now + wait, may_show, ..change });
    }
}

impl Telegram {
    /// Makes the changes one after the other, so that no removal overtakes its reaction.
    pub(crate) async fn keep_reacting(&self) -> Infallible {
        let clock: &dyn Clock = self.clock.as_ref();
        loop {
            let change = self.reactions.next(clock).await;
            // A received message is answered soon, so its reaction can be left out.
            if change.is_receipt && !self.pace.spare_request(&change.chat.chat) {
                self.reactions.queue.lock().leave_out(&change);
                continue;
            }
            match self.react(&change).await {
                Err(fault)
                    if !change.emoji.is_empty()
                        && (fault.contains(REFUSED) || fault.contains(FORBIDDEN)) =>
                {
                    tracing::debug!(chat = %change.chat, error = %fault, "the chat forbids a \
                        reaction; leaving it out");
                    self.reactions.queue.lock().refuse(change, fault.contains(FORBIDDEN));
                }
                Err(fault) => self.reactions.retry(change, &fault, clock.elapsed()),
                Ok(()) => {}
            }
        }
    }

    /// Attempts the changes that wait once, because the account stops.
    pub(crate) async fn finish_reacting(&self) {
        let clock: &dyn Clock = self.clock.as_ref();
        let last = self.reactions.queue.lock().take_last(clock.elapsed());
        if last.is_empty() {
            return;
        }
        let making = async {
            for change in &last {
                if let Err(error) = self.react_or_remove(change).await {
                    tracing::debug!(chat = %change.chat, %error, "cannot react to a message \
                        before the stop");
                }
            }
        };
        tokio::select! {
            () = making => {}
            () = clock.sleep(STOP_LIMIT) => {
                tracing::debug!(account = %self.account, "reactions are left, because the account \
                    stops");
            }
        }
    }

    /// Sets a reaction. If the chat refuses it, the message must not keep an earlier one.
    async fn react_or_remove(&self, change: &ReactionChange) -> Result<(), BotApiError> {
        match self.react(change).await {
            Err(BotApiError::Refused(_)) if change.may_show && !change.emoji.is_empty() => {
                let emoji = String::new();
                self.react(&ReactionChange { emoji, ..change.clone() }).await
            }
            set => set,
        }
    }

    async fn react(&self, change: &ReactionChange) -> Result<(), BotApiError> {
        let ReactionChange { chat, message, emoji, .. } = change;
        let Ok(place) = self.place(chat) else { return Ok(()) };
        let Some(message) = place.message(*message) else { return Ok(()) };
        let emojis = Some(emoji).filter(|emoji| !emoji.is_empty()).into_iter();
        let reaction = emojis.map(|emoji| ReactionType::Emoji { emoji: emoji.clone() });
        let request = SetMessageReaction::new(place.chat, message).reaction(reaction);
        let clock: &dyn Clock = self.clock.as_ref();
        let set = self.api.call_within::<IgnoredAny, _>(clock, ANSWER_LIMIT, request);
        set.await.map(|_| ())
    }
}
