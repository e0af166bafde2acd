//! The requests of a whole account: at even distances, and bounded in any stretch of time.
//!
//! The platform counts a request when it works on it, which is some time between its leaving and its
//! answer. So a request counts here from its leaving until a stretch after its answer: whatever the network
//! and a busy machine make of the times in between, the platform never sees more than are counted.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_protocol::ChatId;

use super::Rate;

/// Messages of the account's rate that are left free on average.
const HEADROOM: usize = 2;
/// Messages of the account's rate that are left free in any stretch.
const MARGIN: usize = 1;
/// The part of a stretch that the slots may lag behind the clock and catch up: `per / CATCH_UP`.
const CATCH_UP: u32 = 8;
/// How long a turn counts whose request has not left: in between, the log is written to disk.
const LONGEST_DELAY: Duration = Duration::from_secs(4);
/// How long a request counts that is not answered, so that a few connections that hang do not stop the
/// account.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Slots {
    rate: Rate,
    /// When the next turn is free.
    next: Duration,
    /// Turns whose requests have not left: the chat, and until when it counts. Not every turn is used.
    granted: VecDeque<(ChatId, Duration)>,
    /// Requests that are not answered, by number: until when they count.
    under_way: BTreeMap<u64, Duration>,
    /// When requests were answered, the oldest first.
    answered: VecDeque<Duration>,
    requests: u64,
}

impl Slots {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            next: Duration::ZERO,
            granted: VecDeque::new(),
            under_way: BTreeMap::new(),
            answered: VecDeque::new(),
            requests: 0,
        }
    }

    /// The time until a turn can be granted, or until it is worth asking again.
    pub(super) fn wait(&self, now: Duration) -> Duration {
        let wait = self.next.saturating_sub(now).max(self.full_for(now));
        // While a slow disk holds up as many turns as fit into a stretch, no more are granted.
        match self.granted(now) < self.most() {
            true => wait,
            false => wait.max(self.distance()),
        }
    }

    /// The time that so many turns take.
    pub(super) fn time_of(&self, turns: usize) -> Duration {
        self.distance().saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    /// Whether half of the rate is free.
    pub(super) fn is_half_free(&self, now: Duration) -> bool {
        self.granted(now) + self.counted(now).count() < self.rate.messages / 2
    }

    /// Grants a turn, which counts until its request leaves.
    pub(super) fn grant(&mut self, chat: &ChatId, now: Duration) {
        self.grant_until(chat, now, now + LONGEST_DELAY);
    }

    /// Grants a turn that may not be used.
    pub(super) fn grant_spare(&mut self, chat: &ChatId, now: Duration) {
        self.grant_until(chat, now, now + self.rate.per);
    }

    fn grant_until(&mut self, chat: &ChatId, now: Duration, until: Duration) {
        let earliest = now.saturating_sub(self.rate.per / CATCH_UP);
        self.next = self.next.max(earliest) + self.distance();
        self.granted.retain(|(_, until)| *until > now);
        self.granted.push_back((chat.clone(), until));
    }

    /// Lets a request leave, in its chat's turn if it has one. Returns its number.
    ///
    /// # Errors
    /// The time until it may, or until it is worth asking again.
    pub(super) fn leave(&mut self, chat: &ChatId, now: Duration) -> Result<u64, Duration> {
        let full_for = self.full_for(now);
        if !full_for.is_zero() {
            return Err(full_for);
        }
        if let Some(place) = self.granted.iter().position(|(granted, _)| granted == chat) {
            self.granted.remove(place);
        }
        self.requests += 1;
        self.under_way.retain(|_, until| *until > now);
        self.under_way.insert(self.requests, now + LONGEST_ANSWER);
        Ok(self.requests)
    }

    /// A request is answered.
    pub(super) fn answered(&mut self, request: u64, now: Duration) {
        self.under_way.remove(&request);
        self.count(now);
    }

    /// Counts a request that is answered now.
    pub(super) fn count(&mut self, now: Duration) {
        self.answered.push_back(now);
        while self.answered.len() > self.rate.messages {
            self.answered.pop_front();
        }
    }

    /// The time until fewer are counted than may be, or until it is worth asking again.
    fn full_for(&self, now: Duration) -> Duration {
        let mut until: Vec<Duration> = self.counted(now).collect();
        let Some(excess) = until.len().checked_sub(self.most()) else { return Duration::ZERO };
        until.sort_unstable();
        // An answer may come any time.
        let soon = if self.under_way.is_empty() { Duration::MAX } else { self.distance() };
        until[excess].saturating_sub(now).min(soon)
    }

    /// Until when each request counts.
    fn counted(&self, now: Duration) -> impl Iterator<Item = Duration> {
        let answered = self.answered.iter().map(|at| *at + self.rate.per);
        answered.chain(self.under_way.values().copied()).filter(move |until| *until > now)
    }

    /// Turns whose requests have not left.
    fn granted(&self, now: Duration) -> usize {
        self.granted.iter().filter(|(_, until)| *until > now).count()
    }

    /// Requests in any stretch.
    fn most(&self) -> usize {
        self.rate.messages.saturating_sub(MARGIN).max(1)
    }

    /// The distance between two turns.
    fn distance(&self) -> Duration {
        let messages = self.rate.messages.saturating_sub(HEADROOM).max(1);
        self.rate.per / u32::try_from(messages).unwrap_or(u32::MAX)
    }
}
