//! The bot's reactions that are still to be set. Each message has at most one, which is the newest.
//! A chat that has to wait holds up no other chat.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use avocet_protocol::{ChatAddress, ChatId};

use crate::moved::MessageNumber;

/// Changes that may wait. Above that, the oldest reaction to a receipt is dropped, or else the oldest
/// change.
const MAX_QUEUE: usize = 1000;
/// Ended messages that are remembered.
const MAX_ENDED: usize = 1000;
/// Chats without reactions that are remembered.
const MAX_CLOSED: usize = 10_000;

/// The next reaction of the bot to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReactionChange {
    pub(crate) chat: ChatAddress,
    pub(crate) message: MessageNumber,
    /// Empty to remove the reaction.
    pub(crate) emoji: String,
    /// `true` for the reaction to a receipt, which the end of the answer replaces.
    pub(crate) is_receipt: bool,
    /// Attempts that have failed.
    pub(crate) attempts: u32,
    /// The time on the clock of the next attempt.
    pub(crate) not_before: Duration,
    /// `true` if the outcome of an attempt is unknown.
    pub(crate) may_show: bool,
}

impl ReactionChange {
    pub(crate) fn new(chat: &ChatAddress, message: MessageNumber, emoji: &str) -> Self {
        let (chat, emoji) = (chat.clone(), emoji.to_owned());
        let (attempts, not_before) = (0, Duration::ZERO);
        let (is_receipt, may_show) = (false, false);
        Self { chat, message, emoji, is_receipt, attempts, not_before, may_show }
    }

    fn is_about(&self, chat: &ChatId, message: MessageNumber) -> bool {
        self.chat.chat == *chat && self.message == message
    }
}

/// The next step of the loop that sets reactions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextReaction {
    Now(ReactionChange),
    /// Wait this long for the next change that is known.
    After(Duration),
    /// Wait for a change.
    Empty,
}

/// The changes that wait, and the chats that get none.
#[derive(Debug, Default)]
pub(crate) struct ReactionQueue {
    changes: VecDeque<ReactionChange>,
    /// The last messages whose answer has ended. A fast answer can end before its message is noted as
    /// received.
    ended: VecDeque<(ChatId, MessageNumber)>,
    /// Chats that forbid reactions.
    closed: BTreeSet<ChatId>,
    /// Chats that have to wait until a time on the clock.
    held: BTreeMap<ChatId, Duration>,
}

impl ReactionQueue {
    /// Adds the reaction to a receipt, unless the answer has ended.
    pub(crate) fn add_receipt(&mut self, chat: &ChatAddress, message: MessageNumber, emoji: &str) {
        if !self.ended.contains(&(chat.chat.clone(), message)) {
            let change = ReactionChange::new(chat, message, emoji);
            self.add(ReactionChange { is_receipt: true, ..change });
        }
    }

    /// Adds the reaction to the end of an answer. `received` is the reaction to receipts.
    pub(crate) fn add_end(
        &mut self,
        chat: &ChatAddress,
        message: MessageNumber,
        emoji: &str,
        received: &str,
    ) {
        self.ended.push_back((chat.chat.clone(), message));
        if self.ended.len() > MAX_ENDED {
            self.ended.pop_front();
        }
        let is_shown = match self.take(&chat.chat, message) {
            Some(waiting) => waiting.may_show,
            None => !received.is_empty(),
        };
        let is_equal = is_shown && emoji == received;
        if is_equal || (emoji.is_empty() && !is_shown) {
            return;
        }
        self.add(ReactionChange::new(chat, message, emoji));
    }

    /// Adds a change again after a failed attempt, unless a newer one waits.
    pub(crate) fn add_again(&mut self, change: ReactionChange) {
        let ReactionChange { chat, message, .. } = &change;
        let is_known = |waiting: &ReactionChange| waiting.is_about(&chat.chat, *message);
        let is_stale = change.is_receipt && self.ended.contains(&(chat.chat.clone(), *message));
        if !self.changes.iter().any(is_known) && !is_stale {
            self.add(change);
        }
    }

    fn add(&mut self, change: ReactionChange) {
        if self.closed.contains(&change.chat.chat) {
            return;
        }
        if self.changes.len() >= MAX_QUEUE {
            let oldest = self.changes.iter().position(|change| change.is_receipt).unwrap_or(0);
            if let Some(dropped) = self.changes.remove(oldest) {
                tracing::debug!(chat = %dropped.chat, "too many reactions wait; dropping one");
            }
        }
        self.changes.push_back(change);
    }

    fn take(&mut self, chat: &ChatId, message: MessageNumber) -> Option<ReactionChange> {
        let waiting = self.changes.iter().position(|change| change.is_about(chat, message))?;
        self.changes.remove(waiting)
    }

    /// Takes the first change that is due.
    pub(crate) fn next(&mut self, now: Duration) -> NextReaction {
        let due = |change: &ReactionChange| {
            let held = self.held.get(&change.chat.chat).copied().unwrap_or_default();
            change.not_before.max(held)
        };
        let Some(earliest) = self.changes.iter().map(due).min() else { return NextReaction::Empty };
        let first = self.changes.iter().position(|change| due(change) <= now);
        match first.and_then(|first| self.changes.remove(first)) {
            Some(change) => NextReaction::Now(change),
            None => NextReaction::After(earliest.saturating_sub(now)),
        }
    }

    /// Lets the changes in a chat wait.
    pub(crate) fn hold(&mut self, chat: &ChatId, now: Duration, wait: Duration) {
        self.held.retain(|_, until| *until > now);
        self.held.insert(chat.clone(), now + wait);
    }

    /// Forgets the changes in a chat that forbids reactions, and takes no others.
    pub(crate) fn close(&mut self, chat: &ChatId) {
        self.changes.retain(|change| change.chat.chat != *chat);
        if self.closed.len() >= MAX_CLOSED {
            self.closed.clear();
        }
        self.closed.insert(chat.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(id: i64) -> ChatAddress {
        format!("telegram:main:{id}").parse().unwrap()
    }

    fn message(number: usize) -> MessageNumber {
        MessageNumber::of_received(&format!("m{number}").parse().unwrap()).unwrap()
    }

    fn drained(queue: &mut ReactionQueue, now: Duration) -> Vec<(MessageNumber, String)> {
        std::iter::from_fn(|| match queue.next(now) {
            NextReaction::Now(change) => Some((change.message, change.emoji)),
            NextReaction::After(_) | NextReaction::Empty => None,
        })
        .collect()
    }

    #[test]
    fn next_returns_the_newest_change_of_each_message() {
        let mut queue = ReactionQueue::default();
        for number in 1..4 {
            queue.add_receipt(&chat(7), message(number), "👀");
        }
        queue.add_end(&chat(7), message(1), "", "👀");
        queue.add_end(&chat(7), message(2), "👍", "👀");
        let expected = [(message(3), "👀".to_owned()), (message(2), "👍".to_owned())];
        assert_eq!(drained(&mut queue, Duration::ZERO), expected);
        queue.add_end(&chat(7), message(3), "", "👀");
        queue.add_receipt(&chat(7), message(1), "👀");
        assert_eq!(drained(&mut queue, Duration::ZERO), [(message(3), String::new())]);
        assert_eq!(queue.next(Duration::ZERO), NextReaction::Empty);
    }

    #[test]
    fn add_end_removes_a_reaction_that_may_be_shown() {
        let mut queue = ReactionQueue::default();
        for may_show in [false, true] {
            let change = ReactionChange::new(&chat(7), message(1), "👀");
            queue.add_again(ReactionChange { is_receipt: true, may_show, ..change });
            queue.add_end(&chat(7), message(1), "", "👀");
            assert_eq!(drained(&mut queue, Duration::ZERO).len(), usize::from(may_show));
            queue.ended.clear();
        }
    }

    #[test]
    fn next_passes_a_chat_that_has_to_wait() {
        let (mut queue, wait) = (ReactionQueue::default(), Duration::from_secs(7));
        queue.add_receipt(&chat(7), message(1), "👀");
        queue.add_receipt(&chat(8), message(2), "👀");
        queue.hold(&chat(7).chat, Duration::ZERO, wait);
        assert_eq!(drained(&mut queue, Duration::ZERO), [(message(2), "👀".to_owned())]);
        assert_eq!(queue.next(Duration::from_secs(3)), NextReaction::After(Duration::from_secs(4)));
        assert_eq!(drained(&mut queue, wait), [(message(1), "👀".to_owned())]);
    }

    #[test]
    fn add_again_gives_way_to_a_newer_change() {
        let mut queue = ReactionQueue::default();
        let receipt = ReactionChange::new(&chat(7), message(1), "👀");
        let receipt = ReactionChange { is_receipt: true, ..receipt };
        queue.add_end(&chat(7), message(1), "👍", "👀");
        queue.add_again(receipt.clone());
        assert_eq!(drained(&mut queue, Duration::ZERO), [(message(1), "👍".to_owned())]);
        queue.add_again(receipt);
        assert_eq!(queue.next(Duration::ZERO), NextReaction::Empty, "the answer has ended");
    }

    #[test]
    fn add_to_a_full_queue_drops_a_receipt_rather_than_a_removal() {
        let mut queue = ReactionQueue::default();
        queue.add_end(&chat(7), message(1), "", "👀");
        for number in 2..=MAX_QUEUE + 1 {
            queue.add_receipt(&chat(7), message(number), "👀");
        }
        let left = drained(&mut queue, Duration::ZERO);
        assert_eq!((left.len(), &left[0].0, &left[1].0), (MAX_QUEUE, &message(1), &message(3)));
    }

    #[test]
    fn close_forgets_the_changes_of_the_chat() {
        let mut queue = ReactionQueue::default();
        for id in [7, 8] {
            queue.add_receipt(&chat(id), message(1), "👀");
        }
        queue.close(&chat(7).chat);
        queue.add_receipt(&chat(7), message(2), "👀");
        assert_eq!(drained(&mut queue, Duration::ZERO).len(), 1);
    }
}
