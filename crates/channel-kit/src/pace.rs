//! When the messages of an account may go out: evenly, a little below what the platform allows, and
//! the chats in turn. A chat that has to wait for a reason of its own holds up no other.

mod line;
mod refusals;
mod slots;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{ChatId, Clock};

use line::{Line, Place};
use refusals::Refusals;
use slots::Slots;

/// How often idle chats are forgotten.
const SWEEP: Duration = Duration::from_mins(1);

/// At most `messages` in any stretch of time of the length `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub messages: usize,
    /// The length of the stretch.
    pub per: Duration,
}

/// What a platform allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// To one chat.
    pub chat: Rate,
    /// To one group, besides.
    pub group: Rate,
    /// To all chats of the account together.
    pub account: Rate,
}

/// Decides when the messages of an account may go out.
#[derive(Debug)]
pub struct Pace {
    rates: Rates,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    line: Line,
    slots: Slots,
    refusals: Refusals,
    chats: BTreeMap<ChatId, Chat>,
    account_held_until: Duration,
    swept_at: Duration,
}

/// What one chat has had, as far as it still matters. Times are those of `Clock::elapsed`.
#[derive(Debug, Default)]
struct Chat {
    /// When messages, previews and edits went out, the oldest first.
    taken: VecDeque<Duration>,
    /// When it had its last turn in the line.
    served_at: Option<Duration>,
    held_until: Duration,
}

impl Pace {
    /// Nothing has gone out yet.
    #[must_use]
    pub fn new(rates: Rates, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            line: Line::default(),
            slots: Slots::new(rates.account),
            refusals: Refusals::default(),
            chats: BTreeMap::new(),
            account_held_until: Duration::ZERO,
            swept_at: Duration::ZERO,
        };
        Self { rates, clock, state: Mutex::new(state) }
    }

    /// Waits in line for a turn to send, and takes it. A chat that has had none in the last minute goes
    /// first, then the one whose last turn is the longest ago. A turn that is not awaited to the end is
    /// not taken.
    ///
    /// # Errors
    /// The time that the chat has to wait for a reason of its own (its rate, or a hold) before it can
    /// get in line.
    pub async fn turn(&self, chat: &ChatId, is_group: bool) -> Result<(), Duration> {
        let place = Place::new(self, chat);
        loop {
            let wait = {
                let mut state = self.state();
                let now = self.clock.elapsed();
                let own = state.wait_of_chat(chat, now, self.of_chat(is_group));
                if !own.is_zero() {
                    return Err(own);
                }
                match state.line.is_first(&place).then(|| state.wait_of_account(now)) {
                    Some(Duration::ZERO) => {
                        state.slots.grant(chat, now);
                        let chat = state.note(chat, now, self.longest());
                        chat.served_at = Some(now);
                        return Ok(());
                    }
                    wait => wait,
                }
            };
            place.wait(self.clock.as_ref(), wait).await;
        }
    }

    /// Takes a turn for something that may be left out, such as a preview, if nobody is in line and one
    /// is free now. Half of the account's rate, and of a group's, stays free for messages.
    ///
    /// # Errors
    /// The time until one can be free.
    pub fn spare_turn(&self, chat: &ChatId, is_group: bool) -> Result<(), Duration> {
        let mut state = self.state();
        let now = self.clock.elapsed();
        let [each, group] = self.of_chat(is_group);
        let half = group.map(|group| Rate { messages: (group.messages / 2).max(1), ..group });
        let own = state.wait_of_chat(chat, now, [each, half]);
        let in_line = state.slots.time_of(state.line.len());
        let wait = own.max(in_line).max(state.wait_of_account(now));
        if !wait.is_zero() {
            return Err(wait);
        }
        if !state.slots.is_half_free(now) {
            return Err(state.slots.time_of(1));
        }
        state.slots.grant_spare(chat, now);
        state.note(chat, now, self.longest());
        Ok(())
    }

    /// Whether a request that is no message, such as the typing sign, may go out now. It is counted with
    /// the account's requests, and half of these stay free for messages.
    pub fn spare_request(&self, chat: &ChatId) -> bool {
        if self.held(chat).is_err() {
            return false;
        }
        let mut state = self.state();
        let now = self.clock.elapsed();
        let is_free = state.line.len() == 0 && state.slots.is_half_free(now);
        if is_free {
            state.slots.count(now);
        }
        is_free
    }

    /// Lets the request of a turn leave. What is returned is dropped once the request is answered. This
    /// hardly ever waits: only where a slow disk has held up many turns between here and [`Self::turn`], so
    /// that they make no burst.
    ///
    /// # Errors
    /// The time left of a hold that began since the turn was granted. The request must not leave.
    pub async fn leave(&self, chat: &ChatId) -> Result<UnderWay<'_>, Duration> {
        loop {
            self.held(chat)?;
            let left = self.state().slots.leave(chat, self.clock.elapsed());
            match left {
                Ok(request) => return Ok(UnderWay { pace: self, request }),
                Err(wait) => self.clock.sleep(wait).await,
            }
        }
    }

    /// A request is answered, and a further one leaves in the same turn.
    pub fn leave_again(&self) {
        let now = self.clock.elapsed();
        self.state().slots.count(now);
    }

    /// Notes that the platform refused a message to this chat and asked to wait. Holds the chat; or the
    /// account, if several chats were refused at about the same time until about the same time, because
    /// then the whole bot is limited. Returns whether the account is held anew.
    pub fn refused(&self, chat: &ChatId, wait: Duration) -> bool {
        self.hold(chat, wait);
        let mut state = self.state();
        let now = self.clock.elapsed();
        let was_held = state.account_held_until > now;
        let Some(until) = state.refusals.note(chat, now, now.saturating_add(wait)) else {
            return false;
        };
        state.account_held_until = state.account_held_until.max(until);
        !was_held
    }

    /// Holds every chat of the account for `wait`, because the platform has limited the whole bot. A
    /// shorter hold than the one in force changes nothing.
    pub fn hold_account(&self, wait: Duration) {
        let until = self.clock.elapsed().saturating_add(wait);
        let mut state = self.state();
        state.account_held_until = state.account_held_until.max(until);
    }

    /// Holds one chat for `wait`. A shorter hold than the one in force changes nothing.
    pub fn hold(&self, chat: &ChatId, wait: Duration) {
        let until = self.clock.elapsed().saturating_add(wait);
        let mut state = self.state();
        let chat = state.chats.entry(chat.clone()).or_default();
        chat.held_until = chat.held_until.max(until);
    }

    /// Checks for a hold of this chat or of the whole account.
    ///
    /// # Errors
    /// The time left until neither is held.
    pub fn held(&self, chat: &ChatId) -> Result<(), Duration> {
        let now = self.clock.elapsed();
        let state = self.state();
        let chat = state.chats.get(chat).map_or(now, |chat| chat.held_until);
        match state.account_held_until.max(chat).saturating_sub(now) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// The rates of a chat.
    fn of_chat(&self, is_group: bool) -> [Option<Rate>; 2] {
        [Some(self.rates.chat), is_group.then_some(self.rates.group)]
    }

    /// The rate of a chat that looks back at the most messages.
    fn longest(&self) -> Rate {
        let Rates { chat, group, .. } = self.rates;
        if chat.messages > group.messages { chat } else { group }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that has left and is not answered. It is answered when this is dropped.
#[derive(Debug)]
#[must_use = "the request counts as answered when this is dropped"]
pub struct UnderWay<'p> {
    pace: &'p Pace,
    request: u64,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let now = self.pace.clock.elapsed();
        self.pace.state().slots.answered(self.request, now);
    }
}

impl State {
    /// The time that a chat has to wait for a reason of its own.
    fn wait_of_chat(&self, chat: &ChatId, now: Duration, rates: [Option<Rate>; 2]) -> Duration {
        let Some(chat) = self.chats.get(chat) else { return Duration::ZERO };
        let waits = rates.into_iter().flatten().map(|rate| rate.wait(&chat.taken, now));
        waits.fold(chat.held_until.saturating_sub(now), Duration::max)
    }

    fn wait_of_account(&self, now: Duration) -> Duration {
        self.slots.wait(now).max(self.account_held_until.saturating_sub(now))
    }

    /// Counts a message to a chat.
    fn note(&mut self, chat: &ChatId, now: Duration, longest: Rate) -> &mut Chat {
        self.sweep(now, longest.per);
        let chat = self.chats.entry(chat.clone()).or_default();
        longest.note(&mut chat.taken, now);
        chat
    }

    /// Forgets the chats where nothing has to wait (F27).
    fn sweep(&mut self, now: Duration, longest: Duration) {
        if now < self.swept_at.saturating_add(SWEEP) {
            return;
        }
        self.swept_at = now;
        let matters = |chat: &Chat| {
            let last = chat.taken.back().copied().unwrap_or_default();
            chat.held_until > now || last.saturating_add(longest) > now
        };
        self.chats.retain(|_, chat| matters(chat));
    }
}

impl Rate {
    /// The time until one more fits; zero if it fits now.
    fn wait(self, taken: &VecDeque<Duration>, now: Duration) -> Duration {
        let first = taken.len().checked_sub(self.messages).and_then(|place| taken.get(place));
        first.map_or(Duration::ZERO, |first| (*first + self.per).saturating_sub(now))
    }

    /// Counts one, and forgets those that cannot matter any more.
    fn note(self, taken: &mut VecDeque<Duration>, now: Duration) {
        taken.push_back(now);
        while taken.len() > self.messages {
            taken.pop_front();
        }
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
