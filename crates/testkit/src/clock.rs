//! A clock that a test moves by hand.

use std::ops::RangeBounds;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::clock::{Clock, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;

/// 2026-01-01T00:00:00Z, the start time of every manual clock.
pub const START: Timestamp = Timestamp(1_767_225_600_000);

/// A clock that stands still until [`ManualClock::advance`] moves it.
#[derive(Debug)]
pub struct ManualClock {
    /// Total correction of the time of day, in milliseconds.
    set_back: AtomicI64,
    elapsed: watch::Sender<Duration>,
    sleepers: watch::Sender<Vec<Duration>>,
    moved: Mutex<()>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            set_back: AtomicI64::new(0),
            elapsed: watch::Sender::new(Duration::ZERO),
            sleepers: watch::Sender::new(Vec::new()),
            moved: Mutex::new(()),
        }
    }
}

impl ManualClock {
    /// Moves time forward and wakes the sleeps that end by then.
    pub fn advance(&self, by: Duration) {
        let _one_at_a_time = self.moved.lock();
        self.elapsed.send_modify(|elapsed| *elapsed += by);
    }

    /// Moves time forward to the next end of a sleep. Returns `false`, and keeps the time, if there
    /// is no sleep.
    pub fn advance_to_next(&self) -> bool {
        let now = *self.elapsed.borrow();
        let next = self.sleepers.borrow().iter().filter(|deadline| **deadline > now).min().copied();
        if let Some(next) = next {
            self.advance(next - now);
        }
        next.is_some()
    }

    /// Sets the time of day back, as an operator or NTP does. `elapsed` and sleeps are unaffected.
    pub fn set_back(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).expect("less than an age");
        self.set_back.fetch_add(millis, Ordering::SeqCst);
    }

    /// Waits until a task sleeps for at least `at_least`. Then the code under test has reached this
    /// sleep.
    pub async fn sleeper(&self, at_least: Duration) {
        self.sleeper_within(at_least..).await;
    }

    /// Waits until a task sleeps whose remaining time is in this range.
    pub async fn sleeper_within(&self, left: impl RangeBounds<Duration>) {
        let mut sleepers = self.sleepers.subscribe();
        let until = |sleepers: &Vec<Duration>| {
            let now = *self.elapsed.borrow();
            let sleeping = |deadline: &&Duration| **deadline > now;
            sleepers.iter().filter(sleeping).any(|deadline| left.contains(&(*deadline - now)))
        };
        sleepers.wait_for(until).await.expect("the clock holds the sender");
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let now = START.after(*self.elapsed.borrow());
        Timestamp(now.0 - self.set_back.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let mut elapsed = self.elapsed.subscribe();
        let deadline = *elapsed.borrow() + duration;
        let _sleeper = Sleeper::new(self, deadline);
        elapsed.wait_for(|elapsed| *elapsed >= deadline).await.expect("the clock holds the sender");
    }
}

/// An active sleep. Dropped when the sleep ends or is cancelled.
struct Sleeper<'a> {
    clock: &'a ManualClock,
    deadline: Duration,
}

impl<'a> Sleeper<'a> {
    fn new(clock: &'a ManualClock, deadline: Duration) -> Self {
        clock.sleepers.send_modify(|sleepers| sleepers.push(deadline));
        Self { clock, deadline }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.clock.sleepers.send_modify(|sleepers| {
            let place = sleepers.iter().position(|deadline| *deadline == self.deadline);
            sleepers.swap_remove(place.expect("entered when it was made"));
        });
    }
}
