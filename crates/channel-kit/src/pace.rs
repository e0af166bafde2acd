//! Rate limiter for the messages of an account: it spreads them evenly, a little below the
//! platform's limits, and gives chats their turns. A chat that has to wait delays only itself.
//!
//! ```text
//! a message    turn           -> in line -> a turn, as the account's rate allows
//!              ..             the log is written (`sending`)
//!              leave          -> the request departs; `UnderWay` counts it
//!              drop UnderWay  its answer is here
//! a preview    spare_turn     -> only if nobody is in line and half of the rate is free
//! typing       spare_request  -> the same, without a turn
//! ```
//!
//! **Two waits.** [`Pace::turn`] sends a chat away, with the time to wait, while its own rate is
//! used up or it is held. Only then it stands in line, for the rate of the account. So the first in
//! line waits for the account alone, and a busy chat does not block the others.
//!
//! **The line** (`line.rs`) is in the order of the last turn: a chat that has had none for a minute
//! goes first. So one busy chat gets one turn a round.
//!
//! **The slots** (`slots.rs`) count a request from its departure until one stretch after its
//! answer, because the platform counts it at some time in between. A turn and its request are
//! apart: the log is written between them, and a slow disk would otherwise let many requests leave
//! at once.
//!
//! **Refusals.** The platform's wait holds the chat. If different chats are refused at about the
//! same time, until about the same time, the account is limited (`refusals.rs`), and all of it is
//! held. A request must not leave during a hold that began after its turn.
//!
//! **Nothing is stored.** After a restart the counts begin at zero; a refusal of the platform then
//! holds the chat.

mod line;
mod refusals;
mod slots;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::ids::ChatId;
use parking_lot::Mutex;

use line::{ChatQueue, QueuePosition};
use refusals::RecentRefusals;
use slots::AccountSlots;

/// The interval at which idle chats are forgotten.
const SWEEP: Duration = Duration::from_mins(1);

/// At most `messages` in any stretch of time of the length `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub messages: usize,
    /// The length of the stretch.
    pub per: Duration,
}

/// A platform's rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// The limit of one chat.
    pub chat: Rate,
    /// The additional limit of a group.
    pub group: Rate,
    /// The limit of all chats of the account together.
    pub account: Rate,
}

/// Decides when the messages of an account may be sent.
#[derive(Debug)]
pub struct Pace {
    rates: Rates,
    clock: Arc<dyn Clock>,
    state: Mutex<PaceState>,
}

#[derive(Debug)]
struct PaceState {
    line: ChatQueue,
    slots: AccountSlots,
    refusals: RecentRefusals,
    chats: BTreeMap<ChatId, ChatPace>,
    account_held_until: Duration,
    swept_at: Duration,
}

/// The recent messages of one chat, as far as they still count. Times are those of
/// `Clock::elapsed`.
#[derive(Debug, Default)]
struct ChatPace {
    /// The times at which messages, previews and edits were sent, the oldest first.
    taken: VecDeque<Duration>,
    /// The time of the chat's last turn in the line.
    served_at: Option<Duration>,
    held_until: Duration,
}

impl Pace {
    /// Creates a rate limiter that has counted no messages yet.
    #[must_use]
    pub fn new(rates: Rates, clock: Arc<dyn Clock>) -> Self {
        let state = PaceState {
            line: ChatQueue::default(),
            slots: AccountSlots::new(rates.account),
            refusals: RecentRefusals::default(),
            chats: BTreeMap::new(),
            account_held_until: Duration::ZERO,
            swept_at: Duration::ZERO,
        };
        Self { rates, clock, state: Mutex::new(state) }
    }

    /// Waits in line for a turn to send, and takes it. Chats without a turn in the last minute go
    /// first, then the chat whose last turn is the longest ago. A dropped call takes no turn.
    ///
    /// # Errors
    /// The time that this chat has to wait before it can queue, because of its rate or a hold.
    pub async fn turn(&self, chat: &ChatId, is_group: bool) -> Result<(), Duration> {
        let place = QueuePosition::new(self, chat);
        loop {
            let wait = {
                let mut state = self.state.lock();
                let now = self.clock.elapsed();
                let own = state.wait_of_chat(chat, now, self.of_chat(is_group));
                if !own.is_zero() {
                    return Err(own);
                }
                match state.line.is_first(&place).then(|| state.wait_of_account(now)) {
                    Some(Duration::ZERO) => {
                        state.slots.grant_turn(chat, now);
                        let chat = state.note(chat, now, self.longest_rate());
                        chat.served_at = Some(now);
                        return Ok(());
                    }
                    wait => wait,
                }
            };
            place.wait_for_turn(self.clock.as_ref(), wait).await;
        }
    }

    /// Takes a turn for something optional, such as a preview, if the line is empty and a turn is
    /// free now. Half of the account's rate, and of a group's, stays free for messages.
    ///
    /// # Errors
    /// The time until a turn can be free.
    pub fn spare_turn(&self, chat: &ChatId, is_group: bool) -> Result<(), Duration> {
        let mut state = self.state.lock();
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
        state.note(chat, now, self.longest_rate());
        Ok(())
    }

    /// Returns `true` if a request without a message, such as the typing indicator, may be sent
    /// now, and counts it among the account's requests. Half of these stay free for messages.
    pub fn spare_request(&self, chat: &ChatId) -> bool {
        if self.held(chat).is_err() {
            return false;
        }
        let mut state = self.state.lock();
        let now = self.clock.elapsed();
        let is_free = state.line.len() == 0 && state.slots.is_half_free(now);
        if is_free {
            state.slots.count_request(now);
        }
        is_free
    }

    /// Lets the request of a turn leave. The caller drops the result once the request is answered.
    /// A wait here is rare: it prevents a burst after a slow disk has delayed many turns since
    /// [`Self::turn`].
    ///
    /// # Errors
    /// The time left of a hold that began since the turn was granted. The request must not leave.
    pub async fn start_request(&self, chat: &ChatId) -> Result<UnderWay<'_>, Duration> {
        loop {
            self.held(chat)?;
            let left = self.state.lock().slots.start_request(chat, self.clock.elapsed());
            match left {
                Ok(request) => return Ok(UnderWay { pace: self, request }),
                Err(wait) => self.clock.sleep(wait).await,
            }
        }
    }

    /// Counts a further request in the same turn, after the answer to the first.
    pub fn leave_again(&self) {
        let now = self.clock.elapsed();
        self.state.lock().slots.count_request(now);
    }

    /// Records that the platform refused a message to this chat and asked to wait. Holds the chat.
    /// If several chats were refused at about the same time until about the same time, the whole
    /// bot is limited, so this holds the account. Returns `true` if that hold of the account is
    /// new.
    pub fn refused(&self, chat: &ChatId, wait: Duration) -> bool {
        self.hold_chat(chat, wait);
        let mut state = self.state.lock();
        let now = self.clock.elapsed();
        let was_held = state.account_held_until > now;
        let Some(until) = state.refusals.note_refusal(chat, now, now.saturating_add(wait)) else {
            return false;
        };
        state.account_held_until = state.account_held_until.max(until);
        !was_held
    }

    /// Holds every chat of the account for `wait`, because the platform has limited the whole bot.
    /// A shorter hold than the current one has no effect.
    pub fn hold_account(&self, wait: Duration) {
        let until = self.clock.elapsed().saturating_add(wait);
        let mut state = self.state.lock();
        state.account_held_until = state.account_held_until.max(until);
    }

    /// Holds one chat for `wait`. A shorter hold than the current one has no effect.
    pub fn hold_chat(&self, chat: &ChatId, wait: Duration) {
        let until = self.clock.elapsed().saturating_add(wait);
        let mut state = self.state.lock();
        let chat = state.chats.entry(chat.clone()).or_default();
        chat.held_until = chat.held_until.max(until);
    }

    /// Checks for a hold of this chat or of the whole account.
    ///
    /// # Errors
    /// The time left until both holds have ended.
    pub fn held(&self, chat: &ChatId) -> Result<(), Duration> {
        let now = self.clock.elapsed();
        let state = self.state.lock();
        let chat = state.chats.get(chat).map_or(now, |chat| chat.held_until);
        match state.account_held_until.max(chat).saturating_sub(now) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// The rates that apply to a chat.
    fn of_chat(&self, is_group: bool) -> [Option<Rate>; 2] {
        [Some(self.rates.chat), is_group.then_some(self.rates.group)]
    }

    /// The rate of a chat that counts the most messages.
    fn longest_rate(&self) -> Rate {
        let Rates { chat, group, .. } = self.rates;
        if chat.messages > group.messages { chat } else { group }
    }
}

/// A request that has left and waits for its answer. Dropping this records the answer.
#[derive(Debug)]
#[must_use = "the request counts as answered when this is dropped"]
pub struct UnderWay<'p> {
    pace: &'p Pace,
    request: u64,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let now = self.pace.clock.elapsed();
        self.pace.state.lock().slots.end_request(self.request, now);
    }
}

impl PaceState {
    /// Returns the time that a chat has to wait because of its own rates or a hold.
    fn wait_of_chat(&self, chat: &ChatId, now: Duration, rates: [Option<Rate>; 2]) -> Duration {
        let Some(chat) = self.chats.get(chat) else { return Duration::ZERO };
        let waits = rates.into_iter().flatten().map(|rate| rate.wait(&chat.taken, now));
        waits.fold(chat.held_until.saturating_sub(now), Duration::max)
    }

    fn wait_of_account(&self, now: Duration) -> Duration {
        self.slots.time_to_turn(now).max(self.account_held_until.saturating_sub(now))
    }

    /// Counts a message to a chat.
    fn note(&mut self, chat: &ChatId, now: Duration, longest: Rate) -> &mut ChatPace {
        self.forget_idle_chats(now, longest.per);
        let chat = self.chats.entry(chat.clone()).or_default();
        longest.note(&mut chat.taken, now);
        chat
    }

    /// Forgets the chats without a current wait (F27).
    fn forget_idle_chats(&mut self, now: Duration, longest: Duration) {
        if now < self.swept_at.saturating_add(SWEEP) {
            return;
        }
        self.swept_at = now;
        let matters = |chat: &ChatPace| {
            let last = chat.taken.back().copied().unwrap_or_default();
            chat.held_until > now || last.saturating_add(longest) > now
        };
        self.chats.retain(|_, chat| matters(chat));
    }
}

impl Rate {
    /// The time until one more message fits; zero if it fits now.
    fn wait(self, taken: &VecDeque<Duration>, now: Duration) -> Duration {
        let first = taken.len().checked_sub(self.messages).and_then(|place| taken.get(place));
        first.map_or(Duration::ZERO, |first| (*first + self.per).saturating_sub(now))
    }

    /// Counts one message, and forgets those that no longer affect the rate.
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
