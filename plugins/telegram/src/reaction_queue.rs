//! The bot's reactions that are still to be set. Each message has at most one, which is the newest.
//! A chat that has to wait holds up no other chat.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_protocol::LruMap;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::ChatId;

use crate::moved::MessageNumber;

/// Changes that may wait. Above that, the oldest reaction to a receipt is dropped, or else the
/// oldest change.
const MAX_QUEUE: usize = 1000;
/// Ended messages that are remembered.
const MAX_ENDED: usize = 1000;
/// Messages without their reaction to a receipt that are remembered.
const MAX_UNMARKED: usize = 1000;
/// Refused reactions that are remembered.
const MAX_REFUSED: usize = 10_000;

/// A message by its chat and its number there.
type MessageInChat = (ChatId, MessageNumber);

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
    /// `true` if the message may show an earlier reaction of the bot, or this one after an attempt
    /// of unknown outcome.
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

    fn place(&self) -> MessageInChat {
        (self.chat.chat.clone(), self.message)
    }

    fn into_removal(self) -> Self {
        let removal = Self::new(&self.chat, self.message, "");
        Self { may_show: true, not_before: self.not_before, ..removal }
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

/// The changes that wait, and the reactions that chats have refused.
#[derive(Debug, Default)]
pub(crate) struct ReactionQueue {
    changes: VecDeque<ReactionChange>,
    /// The last messages whose answer has ended. A fast answer can end before its message is noted
    /// as received.
    ended: LruMap<MessageInChat, (), MAX_ENDED>,
    /// The last messages whose reaction to the receipt was left out.
    unmarked: LruMap<MessageInChat, (), MAX_UNMARKED>,
    /// The change that is being attempted.
    under_way: Option<ReactionChange>,
    /// Reactions that chats have refused; `None` for a chat that forbids all of them.
    refused: LruMap<(ChatId, Option<String>), (), MAX_REFUSED>,
    /// Chats that have to wait until a time on the clock.
    held: BTreeMap<ChatId, Duration>,
}

impl ReactionQueue {
    /// Adds the reaction to a receipt, unless the answer has ended. An answer before this time on the
    /// clock takes its place.
    pub(crate) fn add_receipt(
        &mut self,
        chat: &ChatAddress,
        message: MessageNumber,
        emoji: &str,
        not_before: Duration,
    ) {
        if !self.ended.contains(&(chat.chat.clone(), message)) {
            let change = ReactionChange::new(chat, message, emoji);
            self.add(ReactionChange { is_receipt: true, not_before, ..change });
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
        let place = (chat.chat.clone(), message);
        self.ended.put(place.clone(), ());
        let may_show = match self.take(&chat.chat, message) {
            Some(waiting) => waiting.may_show,
            None => !received.is_empty() && !self.unmarked.contains(&place),
        };
        self.unmarked.pop(&place);
        let is_shown = may_show && !self.is_under_way(&chat.chat, message);
        if (is_shown && emoji == received) || (emoji.is_empty() && !may_show) {
            return;
        }
        self.add(ReactionChange { may_show, ..ReactionChange::new(chat, message, emoji) });
    }

    /// Adds a change again after a failed attempt, unless a newer one waits.
    pub(crate) fn add_again(&mut self, change: ReactionChange) {
        let ReactionChange { chat, message, .. } = &change;
        let is_known = |waiting: &ReactionChange| waiting.is_about(&chat.chat, *message);
        let is_stale = change.is_receipt && self.ended.contains(&change.place());
        if !self.changes.iter().any(is_known) && !is_stale {
            self.add(change);
        }
    }

    fn add(&mut self, change: ReactionChange) {
        let Some(change) = self.permitted(change) else { return };
        if self.changes.len() >= MAX_QUEUE {
            let oldest = self.changes.iter().position(|change| change.is_receipt).unwrap_or(0);
            if let Some(dropped) = self.changes.remove(oldest) {
                tracing::debug!(chat = %dropped.chat, "too many reactions wait; dropping one");
                self.leave_out(&dropped);
            }
        }
        self.changes.push_back(change);
    }

    /// Returns a change that its chat has not refused. A refused one becomes the removal of an
    /// earlier reaction; `None` if the message shows none.
    fn permitted(&mut self, change: ReactionChange) -> Option<ReactionChange> {
        let is_refused = |emoji| self.refused.contains(&(change.chat.chat.clone(), emoji));
        if change.emoji.is_empty() || !(is_refused(None) || is_refused(Some(change.emoji.clone())))
        {
            return Some(change);
        }
        if change.is_receipt {
            self.leave_out(&change);
            return None;
        }
        change.may_show.then(|| change.into_removal())
    }

    /// Notes an abandoned change. The end of the answer need not remove a reaction to a receipt
    /// that was never shown.
    pub(crate) fn leave_out(&mut self, change: &ReactionChange) {
        if !change.is_receipt || change.may_show {
            return;
        }
        let place = change.place();
        if !self.ended.contains(&place) {
            self.unmarked.put(place, ());
            return;
        }
        if let Some(end) = self.take(&place.0, place.1)
            && !end.emoji.is_empty()
        {
            self.changes.push_back(ReactionChange { may_show: false, ..end });
        }
    }

    fn is_under_way(&self, chat: &ChatId, message: MessageNumber) -> bool {
        self.under_way.as_ref().is_some_and(|change| change.is_about(chat, message))
    }

    /// Takes the changes for which a stop leaves one attempt: all but those to receipts and those
    /// of chats that have to wait. The attempt that the stop has cancelled is among them.
    pub(crate) fn take_last(&mut self, now: Duration) -> Vec<ReactionChange> {
        let mut last: Vec<ReactionChange> = self.under_way.take().into_iter().collect();
        last.extend(std::mem::take(&mut self.changes));
        let is_held = |chat: &ChatId| self.held.get(chat).is_some_and(|until| *until > now);
        last.retain(|change| !change.is_receipt && !is_held(&change.chat.chat));
        last
    }

    fn take(&mut self, chat: &ChatId, message: MessageNumber) -> Option<ReactionChange> {
        let waiting = self.changes.iter().position(|change| change.is_about(chat, message))?;
        self.changes.remove(waiting)
    }

    /// Takes the first change that is due. The attempt for the previous one has ended by then.
    pub(crate) fn next(&mut self, now: Duration) -> NextReaction {
        let due = |change: &ReactionChange| {
            let held = self.held.get(&change.chat.chat).copied().unwrap_or_default();
            change.not_before.max(held)
        };
        self.under_way = None;
        let Some(earliest) = self.changes.iter().map(due).min() else { return NextReaction::Empty };
        let first = self.changes.iter().position(|change| due(change) <= now);
        match first.and_then(|first| self.changes.remove(first)) {
            Some(change) => {
                self.under_way = Some(change.clone());
                NextReaction::Now(change)
            }
            None => NextReaction::After(earliest.saturating_sub(now)),
        }
    }

    /// Lets the changes in a chat wait.
    pub(crate) fn hold(&mut self, chat: &ChatId, now: Duration, wait: Duration) {
        self.held.retain(|_, until| *until > now);
        self.held.insert(chat.clone(), now + wait);
    }

    /// Notes that a chat has refused a reaction, or forbids all of them. The changes that wait for
    /// it become removals.
    pub(crate) fn refuse(&mut self, change: ReactionChange, forbids_all: bool) {
        let emoji = (!forbids_all).then(|| change.emoji.clone());
        self.refused.put((change.chat.chat.clone(), emoji), ());
        for waiting in std::mem::take(&mut self.changes) {
            let permitted = self.permitted(waiting);
            self.changes.extend(permitted);
        }
        if change.is_receipt {
            self.leave_out(&change);
        } else {
            self.add_again(change);
        }
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
            queue.add_receipt(&chat(7), message(number), "👀", Duration::ZERO);
        }
        queue.add_end(&chat(7), message(1), "", "👀");
        queue.add_end(&chat(7), message(2), "👍", "👀");
        let expected = [(message(3), "👀".to_owned()), (message(2), "👍".to_owned())];
        assert_eq!(drained(&mut queue, Duration::ZERO), expected);
        queue.add_end(&chat(7), message(3), "", "👀");
        queue.add_receipt(&chat(7), message(1), "👀", Duration::ZERO);
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
        queue.add_receipt(&chat(7), message(1), "👀", Duration::ZERO);
        queue.add_receipt(&chat(8), message(2), "👀", Duration::ZERO);
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
            queue.add_receipt(&chat(7), message(number), "👀", Duration::ZERO);
        }
        let left = drained(&mut queue, Duration::ZERO);
        assert_eq!((left.len(), &left[0].0, &left[1].0), (MAX_QUEUE, &message(1), &message(3)));
    }

    #[test]
    fn refuse_turns_waiting_changes_with_the_emoji_into_removals() {
        for forbids_all in [false, true] {
            let mut queue = ReactionQueue::default();
            for number in 2..=4 {
                queue.add_end(&chat(7), message(number), "👍", if number == 3 { "" } else { "👀" });
            }
            queue.add_receipt(&chat(7), message(5), "👀", Duration::ZERO);
            queue.add_end(&chat(8), message(2), "👍", "👀");
            let refused = ReactionChange::new(&chat(7), message(1), "👍");
            queue.refuse(ReactionChange { may_show: true, ..refused }, forbids_all);
            queue.add_receipt(&chat(7), message(6), "👀", Duration::ZERO);
            queue.add_end(&chat(7), message(7), "👍", "👀");
            let removals = [2, 4, 1, 7].map(|number| (message(number), String::new()));
            let mut drained = drained(&mut queue, Duration::ZERO);
            drained.retain(|change| change.1 != "👀");
            let of_other_chat = (message(2), "👍".to_owned());
            assert!(drained.contains(&of_other_chat), "{drained:?}");
            drained.retain(|change| *change != of_other_chat);
            assert_eq!(drained, removals);
            let receipts = usize::from(forbids_all) * 2;
            assert_eq!(queue.unmarked.len(), receipts, "receipts left out");
        }
    }

    #[test]
    fn add_end_needs_no_removal_of_a_receipt_that_was_left_out() {
        let mut queue = ReactionQueue::default();
        for number in 1..=MAX_QUEUE + 1 {
            queue.add_receipt(&chat(7), message(number), "👀", Duration::ZERO);
        }
        drained(&mut queue, Duration::ZERO);
        queue.add_end(&chat(7), message(1), "", "👀");
        assert_eq!(queue.next(Duration::ZERO), NextReaction::Empty, "dropped for lack of room");
        queue.add_end(&chat(7), message(2), "👀", "👀");
        assert_eq!(queue.next(Duration::ZERO), NextReaction::Empty, "shown already");
        let change = ReactionChange::new(&chat(7), message(5000), "👀");
        queue.leave_out(&ReactionChange { is_receipt: true, ..change });
        queue.add_end(&chat(7), message(5000), "👀", "👀");
        assert_eq!(drained(&mut queue, Duration::ZERO), [(message(5000), "👀".to_owned())]);
    }

    #[test]
    fn leave_out_of_a_receipt_under_way_drops_the_removal_but_not_the_end() {
        for (emoji, left) in [("", 0), ("👍", 1)] {
            let mut queue = ReactionQueue::default();
            queue.add_receipt(&chat(7), message(1), "👀", Duration::ZERO);
            let NextReaction::Now(receipt) = queue.next(Duration::ZERO) else { panic!() };
            queue.add_end(&chat(7), message(1), emoji, "👀");
            queue.leave_out(&receipt);
            assert!(queue.changes.iter().all(|end| !end.may_show));
            assert_eq!(drained(&mut queue, Duration::ZERO).len(), left, "{emoji}");
        }
    }

    #[test]
    fn add_end_repeats_the_emoji_of_a_receipt_that_is_under_way() {
        let mut queue = ReactionQueue::default();
        queue.add_receipt(&chat(7), message(1), "👀", Duration::ZERO);
        assert!(matches!(queue.next(Duration::ZERO), NextReaction::Now(_)));
        queue.add_end(&chat(7), message(1), "👀", "👀");
        assert_eq!(drained(&mut queue, Duration::ZERO), [(message(1), "👀".to_owned())]);
    }
}
