//! Spaces the requests of a whole account evenly, and bounds them in any stretch of time.
//!
//! The platform counts a request while processing it, at some time between the request's departure
//! and its answer. So a request counts here from its departure until one stretch after its answer.
//! However long the network or a busy machine delays either, the platform never sees more requests
//! than are counted.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_protocol::ids::ChatId;

use super::Rate;

/// Messages of the account's rate that are left free on average.
const HEADROOM: usize = 2;
/// Messages of the account's rate that are left free in any stretch.
const MARGIN: usize = 1;
/// The part of a stretch that the slots may lag behind the clock and catch up: `per / CATCH_UP`.
const CATCH_UP: u32 = 8;
/// The time for which a turn counts while its request has not left. Meanwhile the log is written
/// to disk.
const LONGEST_DELAY: Duration = Duration::from_secs(4);
/// The time for which an unanswered request counts, so that a few stuck connections do not stop the
/// account.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct AccountSlots {
    rate: Rate,
    /// The time at which the next turn is free.
    next: Duration,
    /// Turns whose requests have not left: the chat, and the time until which the turn counts. Some
    /// turns stay unused.
    granted: VecDeque<(ChatId, Duration)>,
    /// Unanswered requests by number, with the time until which each counts.
    under_way: BTreeMap<u64, Duration>,
    /// The times at which requests were answered, the oldest first.
    answered: VecDeque<Duration>,
    requests: u64,
}

impl AccountSlots {
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

    /// The time until a turn can be granted, or until a new check is worthwhile.
    pub(super) fn time_to_turn(&self, now: Duration) -> Duration {
        let wait = self.next.saturating_sub(now).max(self.full_for(now));
        // While a slow disk delays as many turns as fit into a stretch, further turns have to wait.
        if self.count_granted(now) < self.most_requests() {
            wait
        } else {
            wait.max(self.turn_distance())
        }
    }

    /// The time that `turns` turns take.
    pub(super) fn time_of(&self, turns: usize) -> Duration {
        self.turn_distance().saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    /// Returns `true` if more than half of the rate is free.
    pub(super) fn is_half_free(&self, now: Duration) -> bool {
        self.count_granted(now) + self.counted_until(now).count() < self.rate.messages / 2
    }

    /// Grants a turn, which counts until its request leaves.
    pub(super) fn grant_turn(&mut self, chat: &ChatId, now: Duration) {
        self.grant_until(chat, now, now + LONGEST_DELAY);
    }

    /// Grants a turn that may stay unused.
    pub(super) fn grant_spare(&mut self, chat: &ChatId, now: Duration) {
        self.grant_until(chat, now, now + self.rate.per);
    }

    fn grant_until(&mut self, chat: &ChatId, now: Duration, until: Duration) {
        let earliest = now.saturating_sub(self.rate.per / CATCH_UP);
        self.next = self.next.max(earliest) + self.turn_distance();
        self.granted.retain(|(_, until)| *until > now);
        self.granted.push_back((chat.clone(), until));
    }

    /// Lets a request leave, in its chat's turn if it has one. Returns the request's number.
    ///
    /// # Errors
    /// The time until the request may leave, or until a new check is worthwhile.
    pub(super) fn start_request(&mut self, chat: &ChatId, now: Duration) -> Result<u64, Duration> {
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

    /// Records the answer to a request.
    pub(super) fn end_request(&mut self, request: u64, now: Duration) {
        self.under_way.remove(&request);
        self.count_request(now);
    }

    /// Counts a request that is answered now.
    pub(super) fn count_request(&mut self, now: Duration) {
        self.answered.push_back(now);
        while self.answered.len() > self.rate.messages {
            self.answered.pop_front();
        }
    }

    /// The time until one more request fits, or until a new check is worthwhile.
    fn full_for(&self, now: Duration) -> Duration {
        let mut until: Vec<Duration> = self.counted_until(now).collect();
        let Some(excess) = until.len().checked_sub(self.most_requests()) else {
            return Duration::ZERO;
        };
        until.sort_unstable();
        // An answer may come at any time.
        let soon = if self.under_way.is_empty() { Duration::MAX } else { self.turn_distance() };
        until[excess].saturating_sub(now).min(soon)
    }

    /// The time until which each request counts.
    fn counted_until(&self, now: Duration) -> impl Iterator<Item = Duration> {
        let answered = self.answered.iter().map(|at| *at + self.rate.per);
        answered.chain(self.under_way.values().copied()).filter(move |until| *until > now)
    }

    /// The number of turns whose requests have not left.
    fn count_granted(&self, now: Duration) -> usize {
        self.granted.iter().filter(|(_, until)| *until > now).count()
    }

    /// The most requests in any stretch.
    fn most_requests(&self) -> usize {
        self.rate.messages.saturating_sub(MARGIN).max(1)
    }

    /// The time between two turns.
    fn turn_distance(&self) -> Duration {
        let messages = self.rate.messages.saturating_sub(HEADROOM).max(1);
        self.rate.per / u32::try_from(messages).unwrap_or(u32::MAX)
    }
}
