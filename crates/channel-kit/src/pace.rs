//! How fast messages may go out: per chat and per account, as the platform allows it. A chat that
//! has to wait holds up no other.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{ChatId, Clock};

/// How often idle chats are forgotten.
const SWEEP: Duration = Duration::from_mins(1);

/// So many messages in any stretch of time of this length.
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

/// When the messages of an account may go out.
#[derive(Debug)]
pub struct Pace {
    rates: Rates,
    clock: Arc<dyn Clock>,
    taken: Mutex<Taken>,
}

/// When messages went out, as far as it still matters.
#[derive(Debug, Default)]
struct Taken {
    account: VecDeque<Duration>,
    chats: BTreeMap<ChatId, Chat>,
    swept_at: Duration,
}

#[derive(Debug, Default)]
struct Chat {
    taken: VecDeque<Duration>,
    held_until: Duration,
}

impl Pace {
    /// Nothing has gone out yet.
    #[must_use]
    pub fn new(rates: Rates, clock: Arc<dyn Clock>) -> Self {
        Self { rates, clock, taken: Mutex::default() }
    }

    /// Waits until a message may go to a chat, and counts it. Does not wait for longer than
    /// `longest` in all.
    ///
    /// # Errors
    /// How much longer it would have to wait, at least. Nothing is counted.
    pub async fn wait(
        &self,
        chat: &ChatId,
        is_group: bool,
        longest: Duration,
    ) -> Result<(), Duration> {
        let latest = self.clock.elapsed().saturating_add(longest);
        while let Err(wait) = self.take(chat, is_group) {
            if self.clock.elapsed().saturating_add(wait) > latest {
                return Err(wait);
            }
            self.clock.sleep(wait).await;
        }
        Ok(())
    }

    /// How long a message to a chat would have to wait, at least. Nothing is counted.
    #[must_use]
    pub fn due(&self, chat: &ChatId, is_group: bool) -> Duration {
        self.wait_in(&self.taken(), chat, is_group)
    }

    /// Counts a message to a chat that goes out now.
    ///
    /// # Errors
    /// How long to wait before it may be asked again. Nothing is counted.
    pub fn take(&self, chat: &ChatId, is_group: bool) -> Result<(), Duration> {
        let now = self.clock.elapsed();
        let mut taken = self.taken();
        taken.sweep(now, self.longest());
        let Rates { chat: each, group, account } = self.rates;
        let wait = self.wait_in(&taken, chat, is_group);
        if !wait.is_zero() {
            return Err(wait);
        }
        account.note(&mut taken.account, now);
        let chat = taken.chats.entry(chat.clone()).or_default();
        let longer = if each.messages > group.messages { each } else { group };
        longer.note(&mut chat.taken, now);
        Ok(())
    }

    fn wait_in(&self, taken: &Taken, chat: &ChatId, is_group: bool) -> Duration {
        let now = self.clock.elapsed();
        let Rates { chat: each, group, account } = self.rates;
        // What its chat keeps waiting takes nothing of what all chats share.
        let own = taken.chats.get(chat).map(|chat| {
            let group = if is_group { group.wait(&chat.taken, now) } else { Duration::ZERO };
            let held = chat.held_until.saturating_sub(now);
            each.wait(&chat.taken, now).max(group).max(held)
        });
        own.unwrap_or_default().max(account.wait(&taken.account, now))
    }

    /// The platform wants nothing for this chat for a while.
    pub fn hold(&self, chat: &ChatId, wait: Duration) {
        let until = self.clock.elapsed().saturating_add(wait);
        let mut taken = self.taken();
        let chat = taken.chats.entry(chat.clone()).or_default();
        chat.held_until = chat.held_until.max(until);
    }

    /// Whether the platform wants nothing for this chat.
    ///
    /// # Errors
    /// For how long.
    pub fn held(&self, chat: &ChatId) -> Result<(), Duration> {
        let now = self.clock.elapsed();
        let until = self.taken().chats.get(chat).map_or(now, |chat| chat.held_until);
        match until.saturating_sub(now) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// How long a message matters to its chat.
    fn longest(&self) -> Duration {
        self.rates.chat.per.max(self.rates.group.per)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rate {
    /// How long until one more fits; zero if it does now.
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

impl Taken {
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

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
