//! The turns that run now: how they are told that they were ended, and whether they move.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use avocet_protocol::{Clock, TurnId};
use dashmap::DashMap;
use tokio_util::sync::CancellationToken;

/// The turns that run now.
#[derive(Debug)]
pub(crate) struct RunningTurns {
    turns: DashMap<TurnId, Running>,
    /// How often somebody has ended turns.
    ends: AtomicU64,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Running {
    ended: CancellationToken,
    /// When it last gave a sign of life.
    sign: Duration,
}

impl RunningTurns {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { turns: DashMap::new(), ends: AtomicU64::new(0), clock }
    }

    /// How often somebody has ended turns so far. Whoever takes a turn looks before and after: what
    /// was ended in between was not in the list.
    pub(crate) fn ends(&self) -> u64 {
        self.ends.load(Ordering::SeqCst)
    }

    /// Puts a turn on the list for as long as the guard lives.
    pub(crate) fn enter(&self, turn: TurnId) -> Entered<'_> {
        let ended = CancellationToken::new();
        self.turns.insert(turn, Running { ended: ended.clone(), sign: self.clock.elapsed() });
        Entered { list: self, turn, ended }
    }

    /// Tells turns that they were ended in the log.
    pub(crate) fn end(&self, turns: &[TurnId]) {
        self.ends.fetch_add(1, Ordering::SeqCst);
        for turn in turns {
            if let Some(running) = self.turns.get(turn) {
                running.ended.cancel();
            }
        }
    }

    /// The turn moves: it has something written, or tries to.
    pub(crate) fn sign(&self, turn: TurnId) {
        if let Some(mut running) = self.turns.get_mut(&turn) {
            running.sign = self.clock.elapsed();
        }
    }

    /// A turn that has given no sign of life for longer than `limit`.
    pub(crate) fn silent_for(&self, limit: Duration) -> Option<TurnId> {
        let now = self.clock.elapsed();
        let silent = self.turns.iter().find(|turn| now.saturating_sub(turn.sign) > limit);
        silent.map(|turn| *turn.key())
    }
}

/// A turn on the list.
#[derive(Debug)]
pub(crate) struct Entered<'l> {
    list: &'l RunningTurns,
    turn: TurnId,
    /// Fires when it was ended.
    pub(crate) ended: CancellationToken,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.list.turns.remove(&self.turn);
    }
}
