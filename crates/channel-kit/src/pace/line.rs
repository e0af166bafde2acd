//! The line in which chats wait for a turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::ids::ChatId;
use tokio::sync::Notify;

use super::{Pace, SWEEP};

/// The time of the chat's last turn, and a number that grows with each arrival. The lowest ticket
/// goes first; `None` is the lowest time.
type Ticket = (Option<Duration>, u64);

/// The waiting chats. Only the first one sleeps until a turn is free. Each of the others is woken
/// when it becomes the first.
#[derive(Debug, Default)]
pub(super) struct ChatQueue {
    waiting: BTreeMap<Ticket, Arc<Notify>>,
    arrivals: u64,
}

impl ChatQueue {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_first(&self, place: &QueuePosition<'_>) -> bool {
        self.waiting.first_key_value().is_some_and(|(ticket, _)| *ticket == place.ticket)
    }

    fn wake_first(&self) {
        if let Some((_, first)) = self.waiting.first_key_value() {
            first.notify_one();
        }
    }
}

/// A chat's place in the line. Dropping the place leaves the line.
pub(super) struct QueuePosition<'p> {
    pace: &'p Pace,
    ticket: Ticket,
    is_first: Arc<Notify>,
}

impl<'p> QueuePosition<'p> {
    /// Joins the line.
    pub(super) fn new(pace: &'p Pace, chat: &ChatId) -> Self {
        let now = pace.clock.elapsed();
        let mut state = pace.state.lock();
        let served_at = state.chats.get(chat).and_then(|chat| chat.served_at);
        // An older turn does not count, so that newcomers cannot starve the chat.
        let recent = served_at.filter(|at| at.saturating_add(SWEEP) > now);
        state.line.arrivals += 1;
        let ticket = (recent, state.line.arrivals);
        let is_first = Arc::new(Notify::new());
        state.line.waiting.insert(ticket, is_first.clone());
        Self { pace, ticket, is_first }
    }

    /// Waits for `wait`. If `wait` is `None`, waits until the chat is the first.
    pub(super) async fn wait_for_turn(&self, clock: &dyn Clock, wait: Option<Duration>) {
        match wait {
            None => self.is_first.notified().await,
            Some(wait) => clock.sleep(wait).await,
        }
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        let mut state = self.pace.state.lock();
        state.line.waiting.remove(&self.ticket);
        state.line.wake_first();
    }
}
